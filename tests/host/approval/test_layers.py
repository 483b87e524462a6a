"""What counts of several layers of configuration (reference §5.6)."""

import pytest

from innkeeper.host.approval.layers import Layer, effective


def layers(*values):
    names = ("session", "parent", "host")
    return [Layer(name, value) for name, value in zip(names, values, strict=False)]


@pytest.mark.parametrize(
    ("values", "auto_approve", "mode"),
    [
        ([{}], "default", "interactive"),
        ([{"autoApprove": "assisted"}, {"autoApprove": "autoApprove"}], "assisted", "interactive"),
        ([{}, {"autoApprove": "autoApprove"}], "autoApprove", "interactive"),
        ([{}, {}, {"autoApprove": "autoApprove", "mode": "plan"}], "autoApprove", "plan"),
        ([{"mode": "plan"}, {"mode": "autopilot"}], "default", "plan"),
        ([{"autoApprove": "autopilot"}], "default", "autopilot"),
        ([{"autoApprove": "autopilot", "mode": "plan"}], "default", "plan"),
        ([{"autoApprove": "nonsense"}, {"autoApprove": "autoApprove"}], "autoApprove", "interactive"),
        ([{"mode": ["plan"]}, {"mode": "plan"}], "default", "plan"),
        ([{"mode": 7, "autoApprove": {"a": 1}}], "default", "interactive"),
    ],
)
def test_the_nearest_usable_value_counts(values, auto_approve, mode):
    found = effective(layers(*values))
    assert (found.auto_approve, found.mode) == (auto_approve, mode)


def test_permissions_of_all_layers_add_up():
    one = {"permissions": {"allow": ["a"], "deny": ["x"]}}
    two = {"permissions": {"allow": ["b"], "deny": ["x", "y"]}}
    found = effective(layers(one, two, {}))
    assert found.allow == {"a", "b"}
    assert found.deny == {"x": "session", "y": "parent"}
    assert found.unusable == ()


@pytest.mark.parametrize(
    ("permissions", "allow", "deny"),
    [
        ("t", set(), {}),
        (["t"], set(), {}),
        ({"allow": "t"}, set(), {}),
        ({"allow": ["t", 7]}, set(), {}),
        ({"deny": ["t", 7]}, set(), {"t": "session"}),
        ({"allow": {"t": True}, "deny": ["u"]}, set(), {"u": "session"}),
        (None, set(), {}),
    ],
)
def test_a_broken_list_allows_nothing_and_denies_what_can_be_read(permissions, allow, deny):
    """Fail closed; each layer alone."""
    found = effective(layers({"permissions": permissions}, {"permissions": {"allow": ["other"]}}))
    assert found.allow == allow | {"other"}
    assert found.deny == deny
    assert bool(found.unusable) == (permissions is not None)


def test_what_is_passed_over_names_the_layer_and_no_value():
    found = effective(layers({"autoApprove": "s3cret", "permissions": {"allow": "s3cret"}}))
    assert len(found.unusable) == 2
    assert all(why.startswith("session: ") and "s3cret" not in why for why in found.unusable)
