"""Editing declaration files: our row beside the incumbents' own add commands (issue 7 A.1, reference §3.3), and times.

Run: python benchmarks/bench_editing.py [CORPUS]
CORPUS is the folder with `index.json`; ../shared/corpus/declarations beside the checkout if it is not given. One http
server `zz` is added to every file of a preset by a whole edit: read, planned, proved, checked by the loader, written,
read back. A pure insertion leaves the old bytes as a subsequence of the new ones. Goal: 100 %, and the old file after
deleting.
"""

import argparse
import json
import os
import re
import statistics
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from innkeeper.errors import HostError
from innkeeper.mcp.declarations.custom import available_presets
from innkeeper.mcp.declarations.resolve import Reading
from innkeeper.mcp.editor.editor import Editor
from innkeeper.mcp.editor.locations import target_of
from innkeeper.mcp.editor.readback import Ground
from innkeeper.mcp.editor.sheets import Target
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.mcp_editing import DeclarationDraft

HERE = Path(__file__).resolve().parent.parent.parent / "shared/corpus/declarations"
YAML = {"id": "custom-yaml", "files": ["mcp.yaml"], "format": "yaml", "servers_paths": ["servers"]}
PRESETS = ("root", "vscode", "codex", "cursor", "gemini", "custom-yaml")
CODEX = '[mcp_servers.{name}]\ncommand = "npx"\nargs = ["-y"]\nenv = {{ A = "{value}" }}\n\n'
FIELDS = {"url": "https://mcp.example.com/mcp"}


@dataclass
class Row:
    files: int = 0
    refused: int = 0
    pure: int = 0
    back: int = 0
    few_lines: int = 0
    commented: int = 0
    comments_lost: int = 0
    milliseconds: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE)
    corpus: Path = parser.parse_args().corpus
    index = json.loads((corpus / "index.json").read_text(encoding="utf-8"))
    rows = {preset: Row() for preset in PRESETS}
    for entry in (*index["real"], *index["synthetic"]):
        if entry.get("preset") in rows:
            measure(rows[entry["preset"]], entry["preset"], corpus / entry["file"])
    head = "| preset | files | refused | pure insertion | deleted again = old | ≤ 2 old lines | comments lost | ms |"
    print(head, "| --- | --- | --- | --- | --- | --- | --- | --- |", sep="\n")
    for preset, row in rows.items():
        print(line(preset, row))
    total = Row(*(sum(values) for values in zip(*map(numbers, rows.values()), strict=True)))
    total.milliseconds = [time for row in rows.values() for time in row.milliseconds]
    print(line("all", total))
    large()


def numbers(row: Row) -> tuple[int, ...]:
    return row.files, row.refused, row.pure, row.back, row.few_lines, row.commented, row.comments_lost


def line(name: str, row: Row) -> str:
    edited = row.files - row.refused
    time = f"{statistics.median(row.milliseconds):.1f}" if row.milliseconds else "–"
    lost = f"{row.comments_lost} of {row.commented}" if row.commented else "–"
    return (
        f"| {name} | {row.files} | {row.refused} | {row.pure} of {edited} | {row.back} of {edited} "
        f"| {row.few_lines} of {edited} | {lost} | {time} |"
    )


def measure(row: Row, preset: str, path: Path) -> None:
    row.files += 1
    old = path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        editor, target = workspace(folder, preset)
        file = Path(folder) / target.file
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(old)
        began = time.perf_counter()
        try:
            editor.save(folder, target, None, "zz", DeclarationDraft("http", FIELDS), None)
        except HostError:
            row.refused += 1
            return
        row.milliseconds.append((time.perf_counter() - began) * 1000)
        new = file.read_bytes()
        editor.delete(folder, target, "zz", None)
        row.pure += subsequence(old, new)
        row.back += file.read_bytes() == old
        row.few_lines += touched(old, new) <= 2
        marks = re.findall(rb"(?m)(?:^|\s)(?://|#)[^\r\n]*", old)
        row.commented += bool(marks)
        row.comments_lost += any(mark not in new for mark in marks)


def workspace(folder: str, preset: str) -> tuple[Editor, Target]:
    available = available_presets([] if preset == YAML["id"] else [preset], [YAML])
    reading = Reading({"PATH": os.defpath, "HOME": "/"}, presets=available.enabled, entry_limit=4_000)
    editor = Editor(Ground(lambda: reading, lambda: available), McpSettings)
    return editor, target_of(available, preset, None, folder)


def large() -> None:
    """A file of almost a mebibyte."""
    servers = {f"s{n}": {"command": "npx", "args": ["-y", f"p{n}"], "env": {"A": "b" * 220}} for n in range(2_600)}
    texts = {
        "root": json.dumps({"mcpServers": servers}, indent=2),
        "codex": "".join(CODEX.format(name=name, value="b" * 220) for name in servers),
    }
    for preset, text in texts.items():
        with tempfile.TemporaryDirectory() as folder:
            editor, target = workspace(folder, preset)
            file = Path(folder) / target.file
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            began = time.perf_counter()
            editor.save(folder, target, None, "zz", DeclarationDraft("http", FIELDS), None)
            print(f"{preset}, {len(text) // 1024} KiB, {len(servers)} servers: {time.perf_counter() - began:.2f} s")


def subsequence(old: bytes, new: bytes) -> bool:
    rest = iter(new)
    return all(byte in rest for byte in old)


def touched(old: bytes, new: bytes) -> int:
    """Old lines that are not in the new text as they were."""
    left: Iterable[bytes] = new.splitlines(keepends=True)
    counts: dict[bytes, int] = {}
    for one in left:
        counts[one] = counts.get(one, 0) + 1
    missing = 0
    for one in old.splitlines(keepends=True):
        if counts.get(one, 0):
            counts[one] -= 1
        else:
            missing += 1
    return missing


if __name__ == "__main__":
    main()
