"""The editor for the host: the adapter of `ports.mcp_editing`, each act in a thread."""

import asyncio
from collections.abc import Mapping, Sequence

from innkeeper.mcp.editor.editor import Editor
from innkeeper.mcp.editor.sheets import Target
from innkeeper.ports.mcp_editing import (
    DeclarationDraft,
    DeclarationPlace,
    EditOutcome,
    OpenedDeclaration,
    ScanReport,
)


class EditorService:
    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    async def places(self, workspace: str) -> Sequence[DeclarationPlace]:
        return await asyncio.to_thread(self._editor.places, workspace)

    async def open(
        self, workspace: str, server: str | None, preset: str | None, file: str | None, *, reveal: bool = False
    ) -> OpenedDeclaration:
        return await asyncio.to_thread(self._editor.open, workspace, server, preset, file, reveal=reveal)

    async def save(
        self,
        workspace: str,
        place: DeclarationPlace,
        server: str | None,
        name: str,
        draft: DeclarationDraft,
        token: str | None,
        *,
        dry_run: bool = False,
    ) -> EditOutcome:
        def act() -> EditOutcome:
            target = self._target(workspace, place)
            return self._editor.save(workspace, target, server, name, draft, token, dry_run=dry_run)

        return await asyncio.to_thread(act)

    async def delete(
        self, workspace: str, place: DeclarationPlace, server: str, token: str | None, *, dry_run: bool = False
    ) -> EditOutcome:
        def act() -> EditOutcome:
            return self._editor.delete(workspace, self._target(workspace, place), server, token, dry_run=dry_run)

        return await asyncio.to_thread(act)

    async def copy(
        self,
        workspace: str,
        source: DeclarationPlace,
        server: str,
        target: DeclarationPlace,
        name: str,
        tokens: Mapping[str, str],
        *,
        move: bool,
        dry_run: bool = False,
    ) -> EditOutcome:
        def act() -> EditOutcome:
            old, new = self._target(workspace, source), self._target(workspace, target)
            return self._editor.copy(workspace, old, server, new, name, tokens, move=move, dry_run=dry_run)

        return await asyncio.to_thread(act)

    async def scan(self, workspace: str) -> ScanReport:
        return await asyncio.to_thread(self._editor.scan, workspace)

    def _target(self, workspace: str, place: DeclarationPlace) -> Target:
        return self._editor.target(workspace, place.preset, place.file or None)
