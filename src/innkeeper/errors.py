"""The one table of stable error codes; `docs/reference/errors.md` is generated from it.

Rules kept here:

* A code is never renamed, reused or translated. `UPPER_SNAKE`, or camelCase where AHP carries it as an `errorType`.
* Meaning and remedy are texts of the catalogue: `error.<CODE>.meaning` and `error.<CODE>.remedy`. Only the meaning has
  placeholders; a `HostError` brings their values. Never a secret, an environment value, a header or a token.
* Codes of declarations, connections and editing (M10) have no placeholders: a diagnostic carries file, server and field
  beside the code.
* The sans-I/O layers do not import this module; what they refuse is a JSON-RPC error of the protocol.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from innkeeper.texts import text

Severity = Literal["fatal", "error", "note"]
"""`fatal`: the process does not start or ends. `error`: one thing is refused or fails. `note`: nothing is refused."""

Area = Literal[
    "start",
    "storage",
    "connection",
    "turn",
    "agent",
    "command",
    "declaration",
    "server",
    "editing",
    "settings",
    "git",
    "changeset",
    "declarationNote",
]


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One stable code; `meaning` and `remedy` are ids of the texts catalogue."""

    code: str
    area: Area
    severity: Severity

    @property
    def meaning(self) -> str:
        return f"error.{self.code}.meaning"

    @property
    def remedy(self) -> str:
        return f"error.{self.code}.remedy"


class HostError(Exception):
    """A failure with a stable code, told to a person in their language.

    `values` fill the placeholders of the code's meaning. Raises `KeyError` when the code is not in `ERRORS`.
    """

    def __init__(self, code: str, /, **values: object) -> None:
        self.error: Final = ERRORS[code]
        self.code: Final = code
        self.values: Final[Mapping[str, object]] = MappingProxyType(values)
        super().__init__(code)

    def __str__(self) -> str:
        return f"{self.code}: {self.message()}"

    def message(self, lang: str = "en") -> str:
        """What happened, in `lang`."""
        return text(self.error.meaning, lang=lang, **self.values)

    def remedy(self, lang: str = "en") -> str:
        """What the person can do, in `lang`."""
        return text(self.error.remedy, lang=lang)


def _table(rows: Iterable[tuple[Area, Severity, str]]) -> Mapping[str, ErrorCode]:
    table: dict[str, ErrorCode] = {}
    for area, severity, codes in rows:
        for code in codes.split():
            if code in table:
                raise ValueError(f"error code {code} is declared twice")
            table[code] = ErrorCode(code, area, severity)
    return MappingProxyType(table)


ERRORS: Final = _table(
    [
        ("start", "fatal", "PORT_IN_USE ADDRESS_UNAVAILABLE SOCKET_IN_USE SOCKET_PATH_TOO_LONG TOKEN_REQUIRED"),
        ("start", "fatal", "TOKEN_INVALID TOKEN_FILE_UNREADABLE TOKEN_FILE_EXPOSED PORT_FORBIDDEN SOCKET_PATH_TAKEN"),
        ("start", "fatal", "PLATFORM_UNSUPPORTED CONFIG_INVALID OPTION_INVALID"),
        ("start", "fatal", "CONTRIBUTION_UNKNOWN CONTRIBUTION_DUPLICATE CONTRIBUTION_ORDER CONTRIBUTION_TIED"),
        ("start", "fatal", "CONTRIBUTION_HOOK CONTRIBUTION_SERVICE CONTRIBUTION_SPI CONTRIBUTION_FAILED"),
        ("storage", "fatal", "DATA_DIR_UNWRITABLE DATA_DIR_LOCKED SCHEMA_NEWER DATABASE_UNREADABLE MIGRATION_FAILED"),
        ("storage", "error", "STORAGE_FULL STORAGE_FAILED DECISIONS_FULL DECISIONS_UNREADABLE"),
        ("connection", "error", "TOKEN_WRONG ORIGIN_FOREIGN HOST_FOREIGN CONNECTIONS_FULL VERSION_UNSUPPORTED"),
        ("connection", "error", "MESSAGE_TOO_LARGE MESSAGE_TOO_DEEP MESSAGE_MALFORMED OUTBOX_OVERFLOW HOST_CLOSING"),
        ("connection", "error", "REQUEST_TIMEOUT FORM_STALE WEB_INCOMPLETE"),
        ("turn", "error", "executionInterrupted requiredServerUnavailable providerFailed STAGE_TIMEOUT"),
        ("turn", "error", "workingDirectoryFailed workingDirectoryMissing"),
        ("turn", "error", "QUESTION_TIMEOUT PROVIDER_UNKNOWN internalError archived readOnly sendFailed"),
        ("turn", "error", "modelSelectionFailed declarationsFailed"),
        ("agent", "error", "AGENT_EXTRA_MISSING AGENT_BINARY_MISSING AGENT_LOGIN_MISSING AGENT_UNSUPPORTED"),
        ("agent", "error", "AGENT_START_FAILED AGENT_EXITED AGENT_UNRESPONSIVE AGENT_REFUSED TRANSCRIPT_UNKNOWN"),
        ("agent", "error", "AGENT_KEY_REFUSED AGENT_WITHOUT_KEY"),
        ("command", "error", "TERMINAL_FAILED TERMINALS_FULL"),
        (
            "command",
            "error",
            "HOST_NOT_RUNNING HOST_UNREACHABLE SESSION_UNKNOWN SESSION_NONE SERVER_UNKNOWN TOOL_UNKNOWN",
        ),
        ("command", "error", "USAGE TARGET_INVALID SESSION_FAILED CHAT_REFUSED CHAT_GONE EDITOR_FAILED"),
        ("command", "error", "CUSTOMIZATION_UNKNOWN CHANGE_REFUSED SYSTEM_REFUSED TOUR_FAILED DEFECT INTERRUPTED"),
        ("declaration", "error", "REMOTE_WORKSPACE FILE_ENCODING FILE_EMPTY FILE_SYNTAX FILE_TOO_DEEP FILE_TOO_LARGE"),
        ("declaration", "error", "FILE_NOT_OBJECT BOTH_TABLES SERVERS_WRONG_KEY SERVERS_NOT_TABLE SERVERS_MISSING"),
        ("declaration", "error", "DUPLICATE_KEY ENTRY_NOT_OBJECT FIELD_TYPE FIELD_VALUE FIELD_WHITESPACE"),
        ("declaration", "error", "ENV_VALUE_TYPE NUL_BYTE TRANSPORT_MISSING TRANSPORT_CONFLICT TRANSPORT_UNKNOWN"),
        ("declaration", "error", "URL_SCHEME HEADER_INVALID UNSUPPORTED_SSE UNSUPPORTED_WS UNSUPPORTED_OAUTH"),
        ("declaration", "error", "UNSUPPORTED_AUTH_HELPER UNSUPPORTED_SANDBOX UNSUPPORTED_REMOTE_STDIO"),
        ("declaration", "error", "FILE_UNREADABLE"),
        ("declaration", "error", "VARIABLE_MISSING VARIABLE_SYNTAX VARIABLE_UNSUPPORTED INPUT_MISSING"),
        ("declaration", "error", "ENV_FILE_MISSING PATH_ESCAPE NAME_INVALID LIMIT_ENTRIES NAME_CONFLICT"),
        ("declaration", "error", "LITERAL_SECRET_FIELD"),
        ("server", "error", "SPAWN_FAILED START_TIMEOUT AUTH_REQUIRED SIGN_IN_REFUSED CLOSE_UNCONFIRMED"),
        ("server", "error", "DECLARATION_CHANGED"),
        ("server", "error", "WRITTEN_BY_AGENT REQUIRED_UNAVAILABLE ENDPOINT_UNREACHABLE MONITORING_UNSUPPORTED"),
        ("server", "error", "NOT_ALLOWED SERVER_DISABLED SERVER_NOT_CONNECTED CONNECTION_LOST HANDSHAKE_FAILED"),
        ("server", "error", "RESOURCE_UNKNOWN CALL_FAILED CALL_TIMEOUT TOOL_DENIED"),
        ("editing", "error", "EDIT_UNSAFE EDIT_CONFLICT EDIT_READ_ONLY EDIT_ROLLED_BACK EDIT_UNWRITABLE"),
        ("editing", "error", "EDIT_NO_SERVER EDIT_NAME_TAKEN EDIT_FIELD EDIT_LOSES EDIT_SAME_FILE EDIT_PRESET"),
        ("settings", "error", "SETTINGS_CONFLICT SETTINGS_INVALID SETTING_UNKNOWN SETTING_VALUE SETTING_OPERATOR_ONLY"),
        ("settings", "error", "CONFIRMATION_NEEDED WEB_CONTROL_OFF INPUT_NAME SECRETS_UNREADABLE"),
        ("changeset", "error", "computeFailed checkpointFailed CHANGESET_STALE TURN_RUNNING OPERATION_UNKNOWN"),
        ("changeset", "error", "OPERATION_TARGET OPERATION_DISABLED BRANCH_MISSING CONTENT_UNKNOWN CONTENT_TOO_LARGE"),
        ("changeset", "error", "CHANGESET_UNKNOWN CHANGED_FILE_UNKNOWN TURN_UNKNOWN TURN_NONE REVIEW_REFUSED"),
        ("git", "error", "GIT_MISSING GIT_OWNER GIT_TIMEOUT GIT_REVISION_UNKNOWN GIT_REF_MOVED GIT_BRANCH_EXISTS"),
        ("git", "error", "GIT_BRANCH_IN_USE GIT_BRANCH_NAME GIT_PATH_TAKEN GIT_NOTHING_TO_COMMIT GIT_UNMERGED"),
        ("git", "error", "GIT_WOULD_OVERWRITE GIT_IDENTITY GIT_LOCKED GIT_TOO_LARGE GIT_FILTER GIT_FAILED"),
        ("declarationNote", "note", "OVERRIDE_ONLY UNKNOWN_FIELD LITERAL_SECRET PLACEHOLDER_VALUE NAME_NORMALISED"),
        ("declarationNote", "note", "NAME_CONFUSABLE PLATFORM_COMMAND ENV_SENSITIVE TRUST_CLAIM_IGNORED"),
        ("declarationNote", "note", "CLIENT_DIFFERS DIAGNOSTICS_OMITTED"),
    ]
)
