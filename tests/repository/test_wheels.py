"""What is locked can be installed without a compiler on every Python and system that pyproject.toml names."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

GLIBC = range(17, 40)
SYSTEMS: Mapping[str, tuple[list[str], Mapping[str, str]]] = {
    "Linux x86_64": (
        ["manylinux2014_x86_64", *(f"manylinux_2_{minor}_x86_64" for minor in GLIBC)],
        {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"},
    ),
    "Linux aarch64": (
        ["manylinux2014_aarch64", *(f"manylinux_2_{minor}_aarch64" for minor in GLIBC)],
        {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "aarch64"},
    ),
    "macOS arm64": (
        [*mac_platforms((14, 0), "arm64")],
        {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"},
    ),
    "macOS x86_64": (
        [*mac_platforms((14, 0), "x86_64")],
        {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "x86_64"},
    ),
}
BUILT = {("cryptography", "macOS x86_64")}
"""Its makers offer none for that system any more; pip builds it there, or takes an older one with `--prefer-binary`."""


@pytest.fixture(scope="module")
def lock(root: Path) -> dict[str, list[dict[str, Any]]]:
    """The packages of uv.lock by name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for package in tomllib.loads((root / "uv.lock").read_text(encoding="utf-8"))["package"]:
        found.setdefault(package["name"], []).append(package)
    return found


@pytest.fixture(scope="module")
def pythons(root: Path) -> list[str]:
    classifiers = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    return [found[1] for line in classifiers if (found := re.search(r":: (3\.\d+)$", line))]


def needed(lock: Mapping[str, list[dict[str, Any]]], environment: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """What is installed there with every extra."""
    own = lock["innkeeper"][0]
    wanted = [*own["dependencies"], *(entry for extra in own["optional-dependencies"].values() for entry in extra)]
    seen: set[tuple[str, str]] = set()
    while wanted:
        entry = wanted.pop()
        if "marker" in entry and not Marker(entry["marker"]).evaluate(dict(environment)):
            continue
        for package in lock[entry["name"]]:
            at = package.get("resolution-markers")
            if at and not any(Marker(marker).evaluate(dict(environment)) for marker in at):
                continue
            for extra in ("", *entry.get("extra", ())):
                if (package["name"], extra) not in seen:
                    seen.add((package["name"], extra))
                    wanted += (
                        package.get("optional-dependencies", {}).get(extra, [])
                        if extra
                        else [*package.get("dependencies", ())]
                    )
            yield package


def tags(python: str, platforms: list[str]) -> set[Tag]:
    version = tuple(int(part) for part in python.split("."))
    interpreter = f"cp{python.replace('.', '')}"
    return {*cpython_tags(version, platforms=platforms), *compatible_tags(version, interpreter, platforms)}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_package_has_a_wheel_on_every_python_that_is_named(
    lock: dict[str, list[dict[str, Any]]], pythons: list[str], system: str
) -> None:
    """ "No build step and no install-time script" (docs/guide/serve.md)."""
    platforms, facts = SYSTEMS[system]
    missing: set[tuple[str, str]] = set()
    looked: set[str] = set()
    for python in pythons:
        fitting = tags(python, platforms)
        environment = {**facts, "python_version": python, "python_full_version": f"{python}.9", "os_name": "posix"}
        environment |= {"implementation_name": "cpython", "platform_python_implementation": "CPython", "extra": ""}
        for package in needed(lock, environment):
            looked.add(package["name"])
            names = [wheel["url"].rsplit("/", 1)[1] for wheel in package.get("wheels", ())]
            if not any(parse_wheel_filename(name)[3] & fitting for name in names):
                missing.add((package["name"], system))
    assert missing == {entry for entry in BUILT if entry[1] == system}
    assert len(looked) > 50
    assert pythons == ["3.11", "3.12", "3.13", "3.14"]
