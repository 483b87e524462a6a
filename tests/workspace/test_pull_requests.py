"""Pull requests through the local `gh`: a real program that stands for it (contributions `githubReferences`)."""

import json

import pytest

from innkeeper.ports.pull_requests import PullRequest
from innkeeper.workspace.pull_requests import GhPullRequests, read_answer

pytestmark = pytest.mark.anyio
FOUND = {"number": 7, "title": "Bake bread", "url": "https://github.com/o/r/pull/7", "state": "OPEN"}


@pytest.fixture
def gh(tmp_path):
    """A program that does what the test says."""

    def write(script):
        program = tmp_path / "gh"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return GhPullRequests({"PATH": "/usr/bin:/bin"}, program=str(program), seconds=1)

    return write


async def test_the_pull_request_of_the_directorys_branch_is_found(gh, tmp_path):
    found = gh(f"pwd > {tmp_path}/seen; echo $* >> {tmp_path}/seen; echo '{json.dumps(FOUND)}'")
    assert await found.of_branch(tmp_path.as_uri()) == PullRequest(**FOUND)
    assert (tmp_path / "seen").read_text() == f"{tmp_path}\npr view --json number,title,url,state\n"


@pytest.mark.parametrize("script", ["exit 1", "echo no", "sleep 30", f"echo '{json.dumps({**FOUND, 'url': 'x:y'})}'"])
async def test_anything_else_is_no_pull_request(gh, tmp_path, script):
    assert await gh(script).of_branch(tmp_path.as_uri()) is None


@pytest.mark.parametrize("directory", ["https://elsewhere/x", "file://other-machine/x"])
async def test_a_directory_of_another_machine_is_not_looked_at(gh, directory, tmp_path):
    assert await gh(f"touch {tmp_path}/ran; echo '{json.dumps(FOUND)}'").of_branch(directory) is None
    assert not (tmp_path / "ran").exists()


async def test_no_program_is_no_pull_request(tmp_path):
    assert await GhPullRequests({}, program=str(tmp_path / "none")).of_branch(tmp_path.as_uri()) is None


@pytest.mark.parametrize("answer", [b"[]", b"null", b'"x"', b'{"number": "7"}', b"\xff"])
def test_an_answer_that_is_none_is_ignored(answer):
    assert read_answer(answer) is None
