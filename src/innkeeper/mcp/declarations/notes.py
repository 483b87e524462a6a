"""What is remarkable about an entry without rejecting it (M2.9, M10)."""

import difflib
import re
from collections.abc import Iterable
from typing import Final

from innkeeper.editing.tree import Member, Node
from innkeeper.mcp.declarations import checks, secrets
from innkeeper.mcp.declarations.model import Preset
from innkeeper.mcp.declarations.written import Written
from innkeeper.mcp.names import safe_server_name

Note = tuple[str, str, str]
"""Code, detail, hint."""

TRUST_CLAIMS: Final = frozenset(
    [
        "trust",
        "autoApprove",
        "alwaysAllow",
        "autoApproved",
        "permission_policy",
        "default_tools_approval_mode",
        "approval_mode",
    ]
)
"""Keys by which a file says that something is allowed. They are never imported."""

LOOKED_AT: Final = 8
"""Unknown fields that are compared with the known ones."""

_POLICIES: Final = frozenset({"permission_policy", "approval_mode"})
_FILE_CLAIMS: Final = (
    ("enableAllProjectMcpServers",),
    ("enabledMcpjsonServers",),
    ("security", "folderTrust"),
    ("security", "disableYoloMode"),
    ("approval_policy",),
)
_CODEX_TOP_LEVEL: Final = frozenset(
    [
        "model",
        "model_provider",
        "model_reasoning_effort",
        "model_reasoning_summary",
        "model_verbosity",
        "approval_policy",
        "sandbox_mode",
        "web_search",
        "notify",
        "profile",
        "file_opener",
        "hide_agent_reasoning",
        "personality",
        "developer_instructions",
    ]
)
_PLATFORM: Final = re.compile(r"(?i)^[a-z]:[\\/]|\\|\.(exe|cmd|bat|ps1)$|^(cmd|powershell|wsl)$")


def notes_of(preset: Preset, member: Member, written: Written | None) -> list[Note]:
    """The notes of one entry, whether it is accepted or not."""
    notes: list[Note] = []
    safe = safe_server_name(member.key)
    if safe != member.key:
        notes.append(("NAME_NORMALISED", safe, ""))
    notes.extend(_fields(preset, member.value, written))
    if written is None:
        return notes
    notes.extend(written.notes)
    sensitive = [name for name in written.environment if checks.SENSITIVE_ENVIRONMENT.fullmatch(name)]
    if sensitive:
        notes.append(("ENV_SENSITIVE", ", ".join(sensitive), ""))
    if written.command is not None and _PLATFORM.search(written.command):
        notes.append(("PLATFORM_COMMAND", "command", ""))
    notes.extend(_values(written))
    return notes


def file_notes(preset: Preset, root: Node) -> list[tuple[str, Node]]:
    """Claims of trust outside the servers table, each with its place."""
    if preset.dialect == "codex":
        return []
    found: list[tuple[str, Node]] = []
    for path in _FILE_CLAIMS:
        node = root.at(path)
        if node is not None:
            found.append((".".join(path), node))
    return found


def _fields(preset: Preset, entry: Node, written: Written | None) -> list[Note]:
    honoured = {path[0] for path in preset.fields.values() if path}
    if preset.dialect == "gemini":
        honoured.add("httpUrl")
    own = honoured | preset.unsupported.keys() | preset.ignored | set(preset.filters)
    if preset.dialect == "codex":
        own |= {"required", "startup_timeout_sec", "startup_timeout_ms"}
    foreign = {preset.fields[name][0] for name in preset.foreign if preset.fields.get(name)}
    claims = [field.key for field in entry.members if _claims(field, preset)]
    known = own - foreign | TRUST_CLAIMS
    if preset.dialect == "codex":
        known |= {"tools"}
    unknown = [field.key for field in entry.members if field.key not in known and field.key not in claims]
    if written is not None and written.transport == "http" and written.environment_file is not None:
        unknown.append(".".join(preset.fields["envFile"]))
    notes: list[Note] = []
    if claims:
        notes.append(("TRUST_CLAIM_IGNORED", ", ".join(claims), ""))
    if unknown:
        notes.append(("UNKNOWN_FIELD", ", ".join(sorted(unknown)), _unknown_hint(preset, unknown, own, foreign)))
    if preset.client == "vscode" and entry.get("dev") is not None:
        notes.append(("CLIENT_DIFFERS", "dev", "devIgnored"))
    return notes


def _claims(field: Member, preset: Preset) -> bool:
    empty = field.value.kind in ("array", "object") and not (field.value.items or field.value.members)
    if field.value.value is False or field.value.kind == "null" or empty:
        return False
    if field.key in TRUST_CLAIMS:
        return True
    if field.key != "tools":
        return False
    tools: Iterable[Node] = field.value.items or tuple(member.value for member in field.value.members)
    return any(tool.get(policy) is not None for tool in tools for policy in _POLICIES)


def _unknown_hint(preset: Preset, unknown: list[str], own: set[str], foreign: set[str]) -> str:
    if preset.dialect == "codex" and _CODEX_TOP_LEVEL & set(unknown):
        return "swallowed"
    if set(unknown) <= set(foreign):
        return "foreignSwitch"
    close = [key for key in unknown[:LOOKED_AT] if key not in own and difflib.get_close_matches(key, list(own), 1, 0.7)]
    return "nearField" if close else ""


def _values(written: Written) -> list[Note]:
    named = [*written.environment.items(), *written.headers.items()]
    plain = [written.command or "", written.url or "", *written.arguments]
    notes: list[Note] = []
    places = [name for name, value in named if secrets.has_secret(name, value)]
    if secrets.secret_arguments(written.arguments):
        places.append("args")
    if written.url is not None and secrets.secret_address(written.url):
        places.append("url")
    if places:
        notes.append(("LITERAL_SECRET", ", ".join(places), ""))
    if secrets.is_placeholder("\n".join((*plain, *(value for _, value in named)))):
        notes.append(("PLACEHOLDER_VALUE", "", ""))
    return notes
