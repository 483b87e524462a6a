"""The report of `innkeeper mcp check` in SARIF 2.1.0, for code scanning (M11.2)."""

from collections.abc import Iterator
from typing import Any, Final

from innkeeper.errors import ERRORS
from innkeeper.mcp.check.report import encodable
from innkeeper.mcp.declarations.model import Diagnostic
from innkeeper.mcp.declarations.resolve import Resolved
from innkeeper.texts import text

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(resolved: Resolved, version: str) -> dict[str, Any]:
    """One run with a result for each diagnostic. `version` is the product's."""
    found = list(_all(resolved))
    codes = sorted({one.code for one in found})
    driver = {
        "name": "innkeeper mcp check",
        "version": version,
        "rules": [
            {
                "id": code,
                "shortDescription": {"text": text(ERRORS[code].meaning)},
                "help": {"text": text(ERRORS[code].remedy)},
            }
            for code in codes
        ],
    }
    results = [_result(one, codes.index(one.code)) for one in found]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _all(resolved: Resolved) -> Iterator[Diagnostic]:
    yield from resolved.diagnostics
    for entry in resolved.entries:
        yield from entry.server.diagnostics


def _result(found: Diagnostic, rule: int) -> dict[str, Any]:
    about = "" if found.server is None else f"{encodable(found.server)}: "
    result: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": rule,
        "level": found.severity,
        "message": {"text": about + encodable(found.message)},
    }
    if found.file:
        place: dict[str, Any] = {"artifactLocation": {"uri": found.file, "uriBaseId": "%SRCROOT%"}}
        if found.line:
            place["region"] = {"startLine": found.line}
        result["locations"] = [{"physicalLocation": place}]
    return result
