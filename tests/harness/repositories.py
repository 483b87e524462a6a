"""Real repositories for tests: made with the installed git, deaf to the configuration of the machine.

`environment()` is what an adapter gets too, so that a test and the host see the same git.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def environment(home: Path) -> dict[str, str]:
    """HOME is `home`, which holds a configuration with an identity; nothing of the machine's counts."""
    home.mkdir(parents=True, exist_ok=True)
    config = home / ".gitconfig"
    if not config.exists():
        config.write_text(
            "[user]\n name = Ada\n email = ada@example.org\n[init]\n defaultBranch = main\n"
            '[protocol "file"]\n allow = always\n'
        )
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}


class RealRepository:
    """A working tree with convenience for arranging and looking; `root` is a real path."""

    def __init__(self, root: Path, variables: Mapping[str, str]) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root.resolve()
        self.variables = dict(variables)

    @classmethod
    def made(cls, root: Path, variables: Mapping[str, str], *, commit: bool = True) -> "RealRepository":
        """A new one, with a commit of `README` unless told otherwise."""
        repository = cls(root, variables)
        repository.git("init", "--quiet")
        if commit:
            repository.write("README", "hello\n")
            repository.commit("first")
        return repository

    @property
    def path(self) -> str:
        return str(self.root)

    def git(self, *arguments: str | bytes, stdin: bytes = b"", check: bool = True) -> str:
        """Standard output without the last line end."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=self.variables, input=stdin, capture_output=True, check=False
        )
        if check and done.returncode != 0:
            raise AssertionError(f"git {arguments}: {done.stderr.decode(errors='replace')}")
        return os.fsdecode(done.stdout.removesuffix(b"\n"))

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def commit(self, message: str = "more") -> str:
        """Everything; the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def files(self, tree: str) -> dict[str, tuple[str, str]]:
        """Mode and id of every path of a tree."""
        found: dict[str, tuple[str, str]] = {}
        for record in self.git("ls-tree", "-r", "-z", "--full-tree", tree).split("\0"):
            about, _, path = record.partition("\t")
            if path:
                mode, _, identity = about.split(" ")
                found[path] = (mode, identity)
        return found

    def text(self, revision_and_path: str) -> str:
        return self.git("cat-file", "blob", revision_and_path)

    def untouched(self) -> tuple[bytes, str, str, Sequence[str]]:
        """Index bytes, HEAD, refs and status: what a reading method must leave as it is."""
        index = self.root / ".git" / "index"
        head = (self.root / ".git" / "HEAD").read_text()
        refs = self.git("for-each-ref")
        # `status` may refresh the index itself, so the index is read first and locks are off.
        content = index.read_bytes() if index.exists() else b""
        self.variables["GIT_OPTIONAL_LOCKS"] = "0"
        return content, head, refs, self.git("status", "--porcelain").split("\n")
