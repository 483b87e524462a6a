"""Patches turn what a page shows into what it should show (docs/decisions/0026-web-ui.md)."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.web.live import LivePage, Node, Patch, Region, block, differences, markup

names = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
keys = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2))


def nodes(order: Sequence[str], versions: dict[str, int]) -> list[Node]:
    def node(name: str) -> Node:
        version = versions.get(name, 0)
        return Node(name, version, lambda: f"<i id={name}>{version}</i>")

    return [node(name) for name in order]


def applied(shown: list[tuple[str, str]], patches: Sequence[Patch]) -> list[tuple[str, str]]:
    """What a browser makes of them: pairs of id and markup."""
    shown = list(shown)

    def place(before: object) -> int:
        return len(shown) if before is None else [id for id, _ in shown].index(str(before))

    for patch in patches:
        match patch["op"]:
            case "del":
                shown = [one for one in shown if one[0] != patch["id"]]
            case "add":
                id = patch["html"].split("id=")[1].split(">")[0]
                shown.insert(place(patch["before"]), (id, patch["html"]))
            case "move":
                moved = next(one for one in shown if one[0] == patch["id"])
                shown.remove(moved)
                shown.insert(place(patch["before"]), moved)
            case "put":
                shown = [(id, patch["html"] if id == patch["id"] else html) for id, html in shown]
    return shown


@given(names, keys, names, keys)
def test_patches_make_the_old_list_the_new_one(
    before: list[str], old_keys: dict[str, int], after: list[str], new_keys: dict[str, int]
) -> None:
    old, new = nodes(before, old_keys), nodes(after, new_keys)
    shown = [(node.id, markup(node)) for node in old]
    assert applied(shown, differences("list", old, new)) == [(node.id, markup(node)) for node in new]


@given(names, keys)
def test_what_did_not_change_is_neither_sent_nor_rendered(order: list[str], versions: dict[str, int]) -> None:
    """ui.md §8.3: patches touch only the block that changed."""

    def refuse() -> str:
        raise AssertionError("rendered again")

    old = [node._replace(render=refuse) for node in nodes(order, versions)]
    assert differences("list", old, [node._replace(render=refuse) for node in nodes(order, versions)]) == []


def test_a_change_deep_inside_names_the_innermost_node_alone() -> None:
    def tree(words: str) -> list[Node]:
        inner = Node("inner", words, lambda: f"<p id=inner>{words}</p>")
        return [Node("outer", None, lambda: "<div id=outer>", (inner,))]

    assert differences("list", tree("a"), tree("b")) == [{"op": "put", "id": "inner", "html": "<p id=inner>b</p>"}]


def test_a_page_renders_only_regions_that_depend_on_what_changed() -> None:
    said = {"one": "1", "two": "2"}
    counted: list[str] = []

    def render(name: str) -> str:
        counted.append(name)
        return f"<p id={name}>{said[name]}</p>"

    regions = [block(name, lambda name=name: render(name), (f"channel:{name}",)) for name in said]
    page = LivePage("p", regions, {})
    for name in said:
        page.html(name)
    counted.clear()
    said["one"], said["two"] = "changed", "changed"
    page.stir("channel:one")
    assert page.update() == [{"op": "put", "id": "one", "html": "<p id=one>changed</p>"}]
    assert counted == ["one"] and page.update() == []


def test_a_block_with_a_key_is_rendered_only_when_the_key_is_another() -> None:
    said, counted = {"key": 1, "words": "a"}, [0]

    def render() -> str:
        counted[0] += 1
        return f"<p id=x>{said['words']}</p>"

    page = LivePage("p", [block("x", render, ("c",), lambda: said["key"])], {})
    assert page.html("x") == "<p id=x>a</p>"
    said["words"] = "b"
    page.stir("c")
    assert page.update() == [] and counted == [1]
    said["key"] = 2
    page.stir("c")
    assert page.update() == [{"op": "put", "id": "x", "html": "<p id=x>b</p>"}]


def test_a_choice_of_the_tab_looks_at_everything_again() -> None:
    choices = {"q": ""}
    region = Region("list", lambda: nodes(choices["q"], {}), lambda: ())
    page = LivePage("p", [region], choices)
    page.html("list")
    choices["q"] = "ab"
    page.stir("choice:q")
    assert [patch["op"] for patch in page.update()] == ["add", "add"]


def test_a_page_that_missed_patches_gets_its_regions_whole() -> None:
    region = Region("list", lambda: nodes("ab", {}), lambda: ("c",))
    page = LivePage("p", [region, block("one", lambda: "<p id=one></p>", ("c",))], {})
    assert page.whole() == [
        {"op": "fill", "id": "list", "html": "<i id=a>0</i><i id=b>0</i>"},
        {"op": "put", "id": "one", "html": "<p id=one></p>"},
    ]


def test_a_slot_that_nobody_fills_shows_nothing() -> None:
    assert LivePage("p", [], {}).html("nothing") == ""
