"""A host in a process of its own whose agents take keys: `python agents_host.py OPTION…`, as `innkeeper serve`.

A key that begins with `bad` is refused, with the key in the reason, as a careless agent would. What was taken is kept
in the file `taken-NAME` of the home, resource and key a line each.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from innkeeper.app import serve as serving
from innkeeper.app.agents import QuietAgents
from innkeeper.cli.main import main
from innkeeper.protocol.common.state import ProtectedResourceMetadata
from innkeeper.providers.spi import ProviderError, Unavailable
from scripted.provider import ScriptedProvider

SIGNED_OUT = Unavailable("AGENT_LOGIN_MISSING", "The agent is not logged in.", "closed login --here")
NOT_INSTALLED = Unavailable("AGENT_BINARY_MISSING", "The program is not on PATH.", "npm install -g bare")


class Keyed(ScriptedProvider):
    """Takes keys for `resources`; `stays` is what it lacks with a key too."""

    def __init__(
        self, name: str, home: Path, *resources: ProtectedResourceMetadata, stays: Unavailable | None = None
    ) -> None:
        super().__init__(name)
        self.home, self.resources, self.stays = home, resources, stays
        self.missing = SIGNED_OUT

    @property
    def info(self) -> Any:
        models = [*super().info["models"], {"id": "script-0", "name": "Old", "policyState": "disabled"}]
        return {
            **super().info,
            "displayName": self.name.title(),
            "models": models,
            "protectedResources": self.resources,
        }

    async def take_token(self, resource: str, token: str | None) -> None:
        if token is not None and token.startswith("bad"):
            raise ProviderError("AGENT_REFUSED", f"The service does not know {token}.")
        (self.home / f"taken-{self.name}").write_text(f"{resource}\n{token}")
        self.missing = self.stays
        self.changed()


class Agents(QuietAgents):
    def providers(self, gateway: Any, endpoints: Any, ids: Any, environment: Mapping[str, str]) -> Sequence[Any]:
        home = Path(environment["INNKEEPER_HOME"])
        bare = Keyed("bare", home, service("bare"))
        bare.missing = NOT_INSTALLED
        limited = Keyed("limited", home, service("limited"), stays=NOT_INSTALLED)
        double = Keyed("double", home, service("double"), {"resource": "https://other.example"})
        others = [Keyed(name, home, service(name)) for name in ("closed", "keyed", "typed")]
        return (*super().providers(gateway, endpoints, ids, environment), *others, double, limited, bare)


def service(name: str) -> ProtectedResourceMetadata:
    return {"resource": f"https://{name}.example", "resource_name": f"{name.title()} service"}


def run() -> int:
    standard = serving.standard_parts

    def parts(*given: Any, **named: Any) -> Any:
        return replace(standard(*given, **named), agents=Agents())

    serving.standard_parts = parts
    return main(["serve", "--quiet", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(run())
