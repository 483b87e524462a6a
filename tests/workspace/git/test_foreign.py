"""Programs that a repository's own configuration names do not run for the host's work (decision 18).

An agent, or whoever packed a folder, may have written `.git/config`; the person's own configuration is theirs.
"""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.repositories import RealRepository
from innkeeper.ports.git import GitError
from innkeeper.workspace.git import LocalGit
from innkeeper.workspace.git.foreign import LFS, Setting, in_their_place, parse_settings, variables

pytestmark = pytest.mark.anyio
Make = Callable[..., RealRepository]
DRIVER = "odd=name.x \N{SNOWMAN}"
"""A name that a command line would cut at its sign."""


class Traced:
    """A command line that leaves a trace when it runs."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.command = f"echo \"$0 $*\" >> '{file}'; cat #"

    @property
    def traces(self) -> str:
        return self._file.read_text() if self._file.exists() else ""

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)


@pytest.fixture
def ran(tmp_path: Path) -> Traced:
    return Traced(tmp_path / "ran")


def name_programs(repository: RealRepository, program: str, *, file: str | None = None) -> None:
    """Whatever could name one, in the repository's own configuration or in a file that it includes."""
    where = ("--file", file) if file is not None else ("--local",)
    for name in (
        f"filter.{DRIVER}.clean", f"filter.{DRIVER}.smudge", "filter.second.process",
        "core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand", "core.askPass",
        "core.pager", "core.editor",
        "credential.helper", "credential.https://example.invalid.helper", "remote.origin.uploadpack",
        "diff.external", "diff.odd.textconv", "diff.odd.command", "gpg.program", "merge.odd.driver",
        "alias.status", "alias.add", "lfs.extension.x.clean", "lfs.customtransfer.x.path",
    ):  # fmt: skip
        repository.git("config", *where, name, program)
    repository.git("config", *where, "commit.gpgsign", "true")
    if file is not None:
        repository.git("config", "include.path", file)


def use_programs(repository: RealRepository) -> None:
    info = repository.root / ".git" / "info" / "attributes"
    info.parent.mkdir(exist_ok=True)
    # A driver's name has no blanks in attributes, so the odd one is reached by a second name.
    info.write_text("*.one filter=one diff=odd merge=odd\n*.two filter=second\n")


async def everything(git: LocalGit, repository: RealRepository, path: str) -> None:
    """All that the host does by itself in a working tree."""
    for name in ("a.one", "b.two", "c"):
        repository.write(name, "edited\n")
    assert await git.discover(repository.path) is not None
    snapshot = await git.snapshot(repository.path)
    assert not (await git.status(repository.path)).clean
    await git.branches(repository.path)
    changes = await git.diff(repository.path, "HEAD", snapshot.tree)
    assert {change.path for change in changes.files} == {"a.one", "b.two", "c"}
    blob = next(change.after.id for change in changes.files if change.path == "a.one" and change.after is not None)
    assert await git.content(repository.path, blob, 100) == b"edited\n"
    commit = await git.commit_tree(repository.path, snapshot.tree, [], "checkpoint")
    await git.set_refs(repository.path, {"refs/innkeeper/x/1": commit})
    await git.commit(repository.path, "by the host", ["c"], unattended=True)
    with pytest.raises(GitError) as refused:
        await git.commit(repository.path, "all", unattended=True)
    assert refused.value.code == "GIT_FILTER"
    with pytest.raises(GitError) as refused:
        await git.add_worktree(repository.path, path, "topic", create_at="HEAD")
    assert refused.value.code == "GIT_FILTER" and "one" in refused.value.message()
    await git.delete_refs(repository.path, "refs/innkeeper/x")


@pytest.mark.parametrize("place", ["config", "included", "worktree config", "linked worktree"])
async def test_no_program_that_the_repository_names_runs_for_the_host(
    git: LocalGit, make: Make, ran: Traced, tmp_path: Path, place: str
) -> None:
    repository = make()
    for name in ("a.one", "b.two", "c"):
        repository.write(name, "first\n")
    repository.commit()
    name_programs(repository, ran.command, file=str(tmp_path / "more") if place == "included" else None)
    worktree = place != "config" and place != "included"
    if worktree:
        repository.git("config", "extensions.worktreeConfig", "true")
    repository.git("config", "--worktree" if worktree else "--local", "filter.one.clean", ran.command)
    repository.git("config", "--worktree" if worktree else "--local", "filter.one.smudge", ran.command)
    use_programs(repository)
    if place == "linked worktree":
        repository.git("-c", "filter.one.smudge=", "-c", "filter.second.process=", "worktree", "add", "-q", "../link")
        repository = RealRepository(repository.root.parent / "link", repository.variables)
        repository.git("config", "--worktree", "filter.one.clean", ran.command)
        repository.git("config", "--worktree", "filter.one.smudge", ran.command)
        ran.forget()
    await everything(git, repository, str(tmp_path / "beside"))
    assert ran.traces == ""


@pytest.mark.parametrize("kind", ["submodule", "nested repository", "submodule of a submodule"])
async def test_none_runs_in_a_submodule_either(git: LocalGit, make: Make, ran: Traced, kind: str) -> None:
    """Git looks into submodules by itself, each with its own configuration."""
    repository, inner = make(), make("inner")
    inner.write("deep.one", "1\n")
    inner.commit()
    if kind == "submodule of a submodule":
        middle = make("middle")
        middle.git("submodule", "--quiet", "add", inner.path, "deep")
        middle.commit()
        repository.git("submodule", "--quiet", "add", middle.path, "part")
        repository.git("submodule", "--quiet", "update", "--init", "--recursive")
        place = repository.root / "part" / "deep"
    elif kind == "nested repository":
        shutil.copytree(inner.root, repository.root / "part")
        repository.git("-c", "advice.addEmbeddedRepo=false", "add", "part")
        place = repository.root / "part"
    else:
        repository.git("submodule", "--quiet", "add", inner.path, "part")
        place = repository.root / "part"
    repository.commit()
    part = RealRepository(place, repository.variables)
    for action in ("clean", "smudge"):
        part.git("config", f"filter.one.{action}", ran.command)
    part.git("config", "core.fsmonitor", ran.command)
    folder = Path(part.git("rev-parse", "--absolute-git-dir"))
    (folder / "info").mkdir(exist_ok=True)
    (folder / "info" / "attributes").write_text("*.one filter=one\n")
    part.write("deep.one", "2\n")
    ran.forget()
    assert not (await git.status(repository.path)).clean
    await git.snapshot(repository.path)
    repository.write("README", "2")
    await git.commit(repository.path, "by the host", ["README"], unattended=True)
    assert ran.traces == ""


async def test_what_the_person_configured_runs_and_stands_in_for_what_the_repository_says(
    git: LocalGit, repository: RealRepository, ran: Traced
) -> None:
    repository.git("config", "--global", "filter.one.clean", "tr a-z A-Z")
    repository.git("config", "--global", "filter.one.required", "true")
    repository.git("config", "filter.one.clean", ran.command)
    use_programs(repository)
    repository.write("x.one", "loud\n")
    tree = (await git.snapshot(repository.path)).tree
    assert repository.text(f"{tree}:x.one") == "LOUD"
    await git.commit(repository.path, "all", unattended=True)
    assert repository.text("HEAD:x.one") == "LOUD"
    assert ran.traces == ""


async def test_lfs_that_is_installed_for_one_repository_works(
    variables: dict[str, str], repository: RealRepository, tmp_path: Path
) -> None:
    """`git lfs install --local`: the program is the one on the person's PATH."""
    program = tmp_path / "bin" / "git-lfs"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ncase $1 in clean) cat >/dev/null; echo pointer;; smudge) echo content;; esac\n")
    program.chmod(0o755)
    repository.git("config", "filter.lfs.clean", "git-lfs clean -- %f")
    repository.git("config", "filter.lfs.smudge", "git-lfs smudge -- %f")
    repository.git("config", "filter.lfs.required", "true")
    repository.write(".gitattributes", "*.bin filter=lfs\n")
    repository.write("x.bin", "content\n")
    adapter = LocalGit({**variables, "PATH": f"{program.parent}:{variables['PATH']}"})
    tree = (await adapter.snapshot(repository.path)).tree
    assert repository.text(f"{tree}:x.bin") == "pointer"
    await adapter.commit(repository.path, "all", unattended=True)
    await adapter.add_worktree(repository.path, str(tmp_path / "beside"), "topic", create_at="HEAD")
    assert (tmp_path / "beside" / "x.bin").read_text() == "content\n"
    await adapter.close()


async def test_what_a_person_asks_for_is_done_with_the_filters_of_their_repository(
    git: LocalGit, repository: RealRepository
) -> None:
    """A secret that a filter keeps out of commits stays out, whoever asks."""
    repository.git("config", "filter.one.clean", "sed s/secret/hidden/")
    repository.git("config", "filter.one.smudge", "sed s/hidden/secret/")
    use_programs(repository)
    repository.write("x.one", "secret\n")
    await git.commit(repository.path, "mine")
    assert repository.text("HEAD:x.one") == "hidden"
    repository.write("x.one", "other\n")
    await git.discard(repository.path, ["x.one"])
    assert (repository.root / "x.one").read_text() == "secret\n"
    repository.write("x.one", "more secret\n")
    with pytest.raises(GitError) as refused:
        await git.commit(repository.path, "the host's", unattended=True)
    assert refused.value.code == "GIT_FILTER" and repository.text("HEAD:x.one") == "hidden"


async def test_a_missing_object_is_fetched_by_no_program_that_the_repository_names(
    git: LocalGit, make: Make, ran: Traced
) -> None:
    """A partial clone asks its remote for what it lacks; the remote is in the repository's configuration."""
    repository = make()
    repository.write("lost", "lost\n")
    repository.commit()
    blob = repository.git("rev-parse", "HEAD:lost")
    (repository.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    repository.git("config", "core.repositoryFormatVersion", "1")
    repository.git("config", "extensions.partialClone", "origin")
    repository.git("config", "remote.origin.promisor", "true")
    repository.git("config", "protocol.ext.allow", "always")
    repository.git("config", "core.sshCommand", ran.command)
    for url in (f"ext::sh -c {ran.command.replace(' ', '% ')}", "ssh://nowhere.invalid/x"):
        repository.git("config", "remote.origin.url", url)
        for asking in (git.diff(repository.path, None, "HEAD"), git.content(repository.path, blob, 100)):
            with contextlib.suppress(GitError):
                await asking
    assert ran.traces == ""


async def test_a_partial_clone_fetches_what_it_lacks(
    git: LocalGit, make: Make, variables: dict[str, str], tmp_path: Path
) -> None:
    origin = make("origin")
    origin.git("config", "uploadpack.allowFilter", "true")
    origin.git("config", "uploadpack.allowAnySHA1InWant", "true")
    clone = RealRepository(tmp_path / "clone", variables)
    clone.git("clone", "--quiet", "--filter=blob:none", "--no-checkout", f"file://{origin.path}", ".")
    (change,) = (await git.diff(clone.path, None, "HEAD")).files
    assert (change.path, change.added) == ("README", 1)
    await git.add_worktree(clone.path, str(tmp_path / "beside"), "topic", create_at="HEAD")
    assert (tmp_path / "beside" / "README").read_text() == "hello\n"


async def test_no_configuration_leads_the_host_to_another_place(
    git: LocalGit, repository: RealRepository, tmp_path: Path
) -> None:
    """Neither to read what is private there, nor to discard it."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "key").write_text("secret")
    (private / "README").write_text("mine")
    repository.write("key", "of the project")
    repository.git("config", "core.worktree", str(private))
    assert await git.discover(repository.path) is None
    tree = (await git.snapshot(repository.path)).tree
    assert repository.text(f"{tree}:key") == "of the project"
    assert [entry.path for entry in (await git.status(repository.path)).entries] == ["key"]
    await git.discard(repository.path, ["key", "README"])
    assert not (repository.root / "key").exists()
    assert (private / "key").read_text() == "secret" and (private / "README").read_text() == "mine"


async def test_variables_of_the_environment_run_nothing(
    variables: dict[str, str], repository: RealRepository, ran: Traced
) -> None:
    naming = dict.fromkeys(
        ("GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND",
         "GIT_PAGER", "PAGER", "GIT_EDITOR", "EDITOR", "VISUAL", "GIT_SEQUENCE_EDITOR"),
        ran.command,
    )  # fmt: skip
    counted = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "filter.one.clean", "GIT_CONFIG_VALUE_0": ran.command}
    adapter = LocalGit({**variables, **naming, **counted, "GIT_CONFIG_PARAMETERS": f"'core.pager={ran.command}'"})
    use_programs(repository)
    repository.write("x.one", "1\n")
    snapshot = await adapter.snapshot(repository.path)
    await adapter.diff(repository.path, "HEAD", snapshot.tree)
    await adapter.commit(repository.path, "all")
    await adapter.close()
    assert ran.traces == ""


# -- the rule, without git ---------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b=c", "x.y", ""]).flatmap(
    lambda driver: st.sampled_from([f"filter.{driver}.{kind}" for kind in ("clean", "smudge", "process", "required")])
)
SETTINGS = st.lists(
    st.builds(
        Setting,
        scope=st.sampled_from(["system", "global", "local", "worktree"]),
        name=NAMES | st.sampled_from(["credential.helper", "core.sshcommand", "lfs.extension.a.clean"]),
        value=st.sampled_from(["evil", *sorted(LFS)]),
    ),
    max_size=12,
)


@given(SETTINGS, st.booleans())
def test_after_what_is_put_in_place_no_value_of_the_repository_counts(settings: list[Setting], refuse: bool) -> None:
    """For every setting that names a program: the last word is the person's, or one that runs nothing, or LFS's."""
    told = [one._replace(value="mine") if one.scope in ("system", "global") else one for one in settings]
    last = {setting.name: setting.value for setting in told}
    last.update(in_their_place(told, refuse=refuse))
    programs = {name: value for name, value in last.items() if not name.endswith(".required")}
    assert set(programs.values()) <= {"mine", "", "ssh", *LFS}


def test_a_list_of_helpers_begins_anew_with_those_of_the_person() -> None:
    settings = [Setting("global", "credential.helper", "one"), Setting("local", "credential.helper", "evil")]
    assert in_their_place(settings, refuse=False) == [("credential.helper", ""), ("credential.helper", "one")]


def test_a_filter_of_which_a_part_is_the_persons_is_refused_where_something_is_written() -> None:
    """Git leaves `clean` alone where there is a `process`, were it empty."""
    settings = [Setting("global", "filter.x.clean", "mine"), Setting("local", "filter.x.process", "evil")]
    assert dict(in_their_place(settings, refuse=True)) == {"filter.x.process": "", "filter.x.required": "true"}
    assert dict(in_their_place(settings, refuse=False))["filter.x.required"] == "false"


def test_settings_are_read_and_told_as_git_has_them() -> None:
    out = b"local\0filter.a=b.clean\nx\ny\0worktree\0filter.a=b.required\0"
    settings = list(parse_settings(out))
    assert settings == [("local", "filter.a=b.clean", "x\ny"), ("worktree", "filter.a=b.required", "")]
    told = variables(in_their_place(settings, refuse=True))
    assert told == {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "filter.a=b.clean", "GIT_CONFIG_VALUE_0": "",
        "GIT_CONFIG_KEY_1": "filter.a=b.required", "GIT_CONFIG_VALUE_1": "true",
    }  # fmt: skip
    assert variables([]) == {}
