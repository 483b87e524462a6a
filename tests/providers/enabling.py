"""What tests of enablement do with a host and a client (issue 6 §3)."""

from pathlib import Path
from typing import Any

from scripted.world import Client


def entries(state: Any) -> list[Any]:
    """The customizations of a session, children too."""
    containers = state.get("customizations") or ()
    return [one for container in containers for one in (container, *(container.get("children") or ()))]


async def shown(client: Client, uri: str, *names: str) -> None:
    """The session shows customizations of these names."""
    await client.state(uri, lambda state: set(names) <= {one.get("name") for one in entries(state)})


def item(client: Client, uri: str, name: str, type: str | None = None) -> str:
    """The id of a customization."""
    for one in entries(client.states[uri]):
        if one.get("name") == name and type in (None, one.get("type")):
            return str(one["id"])
    raise AssertionError(f"no {name} in {[one.get('name') for one in entries(client.states[uri])]}")


def of_file(client: Client, uri: str, file: Path) -> str:
    """The id of the customization that a file is."""
    return next(str(one["id"]) for one in entries(client.states[uri]) if one.get("uri") == file.as_uri())


def skill(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {name.upper()}WORDS\n---\nBODY of {name}\n")
    return folder


def markdown(file: Path, name: str | None = None) -> Path:
    """An agent or a prompt, whose description is its name in capitals and WORDS."""
    file.parent.mkdir(parents=True, exist_ok=True)
    named = f"name: {name}\n" if name else ""
    file.write_text(f"---\n{named}description: {(name or file.stem).upper()}WORDS\n---\nBODY of {name or file.stem}\n")
    return file


def files(folder: Path) -> dict[str, bytes]:
    """What is in a folder, to compare."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
