"""A host in a process of its own whose agents are scripted: `python stage_host.py HOME PORT [OPTION]…`.

Everything is what `innkeeper serve` runs, with two agents beside the console in the place of real ones. What they do is
chosen by the first word of the message (`SCENES` in `scenes.py`).
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from browser import mcp_scenes
from browser.scenes import StagedProvider
from innkeeper.app import serve as serving
from innkeeper.app.agents import QuietAgents
from innkeeper.cli.main import main


class StageAgents(QuietAgents):
    def providers(self, gateway: Any, endpoints: Any, ids: Any, environment: Mapping[str, str]) -> Sequence[Any]:
        home = Path(environment["INNKEEPER_HOME"])
        mcp_scenes.GATEWAY.append(gateway)
        staged = [StagedProvider("claude", "Claude", home), StagedProvider("codex", "Codex", home)]
        if (home / "more-agents").exists():
            staged += [StagedProvider("gemini", "Gemini CLI", home), StagedProvider("copilot", "Copilot", home)]
        return (*super().providers(gateway, endpoints, ids, environment), *staged)


def run(arguments: list[str]) -> None:
    standard = serving.standard_parts

    def parts(*given: Any, **named: Any) -> Any:
        return replace(standard(*given, **named), agents=StageAgents())

    serving.standard_parts = parts
    sys.argv = ["innkeeper", "serve", "--quiet", *arguments]
    main()


if __name__ == "__main__":
    run(sys.argv[1:])
