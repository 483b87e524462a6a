"""What never leaves the host, and `web_control = false` (issue 7 B.4, B.9; M9.3, M7.7)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser.conftest import Stage
from browser.mcp_project import write
from browser.visitor import Visitor
from innkeeper.web.asking import WebOptions
from innkeeper.web.pages import all_actions, all_pages

INPUT, HEADER, OPERATOR = "canary-of-an-input", "canary-of-a-header", "canary-of-the-operator"
CONFIG = f"""
web_control = {{control}}

[host_servers.wide]
command = "{OPERATOR}-command"
env = {{{{ TOKEN = "{OPERATOR}-value" }}}}
"""


def start(folder: Path, control: str) -> Stage:
    home = folder / "home"
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text(CONFIG.format(control=control))
    secrets = home / "config" / "secrets.toml"
    secrets.write_text(f'[input_values]\nkey = "{INPUT}"\n')
    secrets.chmod(0o600)
    stage = Stage(home)
    write(stage.project)
    entry = {"type": "http", "url": "http://127.0.0.1:9/", "headers": {"Authorization": f"Bearer {HEADER}"}}
    other = {"type": "http", "url": "http://127.0.0.1:9/", "headers": {"Authorization": "Bearer ${input:key}"}}
    (stage.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"search": entry, "secret": other}}))
    return stage.start()


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = start(tmp_path_factory.mktemp("closed"), "false")
    yield stage
    stage.close()


@pytest.fixture(scope="module")
def open_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = start(tmp_path_factory.mktemp("open"), "true")
    yield stage
    stage.close()


def management(kind: str) -> list[str]:
    """The addresses of management that are served with control and not without."""
    table = {"get": all_pages, "post": all_actions}[kind]
    with_it = {path for path, _ in table(WebOptions())}
    without = {path for path, _ in table(WebOptions(web_control=False))}
    return sorted(with_it - without)


def addresses(kind: str, path: str) -> list[str]:
    """Every address of this kind, for the session with this page."""
    table = {"get": all_pages, "post": all_actions}[kind]
    session = path.removeprefix("/s/")
    return [
        re.sub(r"\{\w+\}", "x", one.replace("{session}", session).replace("{section}", "mcp"))
        for one, _ in table(WebOptions())
    ]


def test_no_route_of_management_is_served_where_the_operator_switched_it_off(closed: Stage) -> None:
    """M9.3"""
    visitor, path = Visitor(closed), closed.session(title="Closed")
    gets, posts = management("get"), management("post")
    assert len(gets) >= 6 and len(posts) >= 29
    for pattern in gets:
        status, _, _ = visitor.get(pattern.replace("{session}", path.removeprefix("/s/")))
        assert status == 404, pattern
    for pattern in posts:
        fields = {"form_token": visitor.token(), "server": "search", "on": "1", "file": ".mcp.json"}
        status, _, _ = visitor.post(pattern.replace("{session}", path.removeprefix("/s/")), fields)
        assert status == 404, pattern
    before = (closed.home / "config" / "config.toml").read_text()
    assert before == CONFIG.format(control="false"), "nothing was written"


def test_page_and_control_say_who_switched_it_off_and_name_the_commands(closed: Stage) -> None:
    """M9.3: the composer's control, and one panel in the place of every settings page."""
    visitor, path = Visitor(closed), closed.session(title="Closed")
    _, _, html = visitor.get(path)
    for words in (html, *(visitor.get(f"/settings{one}")[2] for one in ("", "/mcp", "/agents", "/about"))):
        assert "The operator of this host switched management in the browser off." in words
        assert "<code>innkeeper mcp list</code>" in words
    assert "data-edit" not in html and "mcp-trust" not in html and "sentry" not in html
    settings = visitor.get("/settings/mcp")[2]
    assert "trust_mode" not in settings and "group-" not in settings


def test_no_answer_has_a_declaration_or_a_setting_where_management_is_off(closed: Stage) -> None:
    """M9.3: greps every response."""
    visitor, path = Visitor(closed), closed.session("say hello", title="Grep")
    answers = [visitor.get(one)[2] for one in addresses("get", path)]
    answers += [visitor.post(one, {"form_token": visitor.token()})[2] for one in addresses("post", path)]
    assert len(answers) > 60
    for canary in (INPUT, HEADER, OPERATOR, "s3cret-of-the", "sentry-mcp", "input_values"):
        assert [one for one in answers if canary in one] == []


def test_what_is_operator_only_or_secret_is_in_no_answer(open_host: Stage) -> None:
    """M9.3, M7.7: greps every response, with everything opened; a value of a header only where its row asked."""
    visitor, path = Visitor(open_host), open_host.session("say hello", title="Grep")
    token = visitor.token()
    for name in ("search", "secret", "playwright"):
        visitor.post(f"{path}/mcp/connect", {"form_token": token, "server": name})
    asked = [visitor.get(one)[2] for one in addresses("get", path)]
    for query in ("server=search", "server=secret", "server=playwright", "view=scan", "view=manage", ""):
        tabs = ("", "/permissions", "/calls", "/why")
        asked += [visitor.get(f"{path}/mcp/editor{tab}?{query}")[2] for tab in tabs]
    asked += [visitor.get(f"/settings/{one}")[2] for one in ("mcp", "about", "agents", "look", "general")]
    asked += [visitor.post(one, {"form_token": token})[2] for one in addresses("post", path) if "value" not in one]
    assert any("playwright" in one for one in asked) and any(".codex/config.toml" in one for one in asked)
    for canary in (INPUT, HEADER, OPERATOR, "s3cret-of-the", "input_values"):
        assert [one[:300] for one in asked if canary in one] == []
    path = open_host.session(title="One value")
    fields = {"form_token": token, "server": "search", "table": "headers", "key": "Authorization"}
    status, _, shown = visitor.post(f"{path}/mcp/editor/value", fields, Accept="application/json")
    assert status == 200 and json.loads(shown) == {"value": f"Bearer {HEADER}"}
    unexpanded = visitor.post(f"{path}/mcp/editor/value", {**fields, "server": "secret"}, Accept="application/json")
    assert json.loads(unexpanded[2]) == {"value": "Bearer ${input:key}"}, "never expanded"


def test_an_act_of_management_needs_the_form_token_this_origin_and_a_post(open_host: Stage) -> None:
    """Issue 7 B.9: CSRF."""
    visitor, path = Visitor(open_host), open_host.session(title="Foreign")
    session, token = path.removeprefix("/s/"), visitor.token()
    for pattern in management("post"):
        address = pattern.replace("{session}", session)
        assert visitor.post(address, {"server": "search"})[0] == 403, address
        assert visitor.post(address, {"form_token": "0" * 64, "server": "search"})[0] == 403, address
        assert visitor.post(address, {"form_token": token}, Origin="https://evil.example")[0] == 403, address
        assert visitor.post(address, {"form_token": token}, Sec_Fetch_Site="same-site")[0] == 403, address
    stranger = Visitor(open_host)
    stranger.cookie = ""
    assert stranger.post(f"{path}/mcp/editor/value", {"form_token": token})[0] == 403
    assert visitor.get(f"{path}/mcp/connect?server=search&form_token={token}")[0] == 404


@pytest.mark.parametrize("file", ["../outside.json", "/etc/passwd", "..\\outside.json", ".mcp.json/../../x"])
def test_no_file_outside_the_workspace_is_opened_or_written(open_host: Stage, file: str) -> None:
    """Issue 7 B.9: path traversal; M1.6."""
    visitor, path = Visitor(open_host), open_host.session(title="Outside")
    (open_host.project.parent / "outside.json").write_text('{"mcpServers": {"x": {"command": "canary-outside"}}}')
    fields = {"form_token": visitor.token(), "preset": "root", "file": file, "name": "x", "transport": "stdio"}
    for address in ("check", "save", "delete", "value"):
        status, _, words = visitor.post(
            f"{path}/mcp/editor/{address}", {**fields, "command": "touch", "token": "none", "server": "x"}
        )
        assert status in (200, 303, 400, 404, 409) and "canary-outside" not in words
    assert "canary-outside" in (open_host.project.parent / "outside.json").read_text()
    assert "canary-outside" not in visitor.get(f"{path}/mcp/editor?preset=root&file={file}&server=x")[2]


def test_a_sign_in_link_and_a_way_back_lead_nowhere_else(open_host: Stage) -> None:
    """Issue 7 B.9: open redirect."""
    visitor = Visitor(open_host)
    for back in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"):
        status, headers, _ = visitor.post(
            "/-/preferences", {"form_token": visitor.token(), "keys": "off", "back": back}
        )
        assert status == 303 and "evil" not in headers["location"] and "javascript" not in headers["location"]
