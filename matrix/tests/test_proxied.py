"""What rows about lists leave unsaid, how they are grouped into units, and which columns are for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from matrix.model import Backend, Case
from matrix.plan import MOST, units
from matrix.proxied import SECONDS, plain
from matrix.scene import egress, scene
from matrix.tests.judging import CASE
from runners.contract import Channel

ROW: dict[str, Any] = {
    "id": "row",
    "policy": {"manifest": ["api.test"]},
    "request": {"connect": "other.test:443"},
    "expect": {"deny": "unlisted"},
    "never_dial": ["$PUB4_A"],
}
LINT: dict[str, Any] = {
    "id": "lint",
    "decide": {
        "question": "lint",
        "facts": {"manifest": ["10.0.0.1"]},
        "expect": {"ok": False},
        "beside": {"facts": {"manifest": ["api.test"]}, "expect": {"ok": True}},
    },
}
BOX = Backend(id="box", title="box", runner="command", platforms=("linux",), options={}, claims=None)


def said(row: dict[str, Any], unseen: tuple[str, ...] = ()) -> dict[str, Any]:
    return plain(row, unseen)


def test_a_proxied_row_says_its_staging_alone() -> None:
    found = said(ROW)
    assert found["plant"] == {key: ROW[key] for key in ("policy", "request", "expect", "never_dial")}
    told = ("attack", "witness", "decisive", "twin", "world", "allowed", "channels", "seconds")
    assert [found[key] for key in told] == [
        "proxy_request", "egress", "forbidden", "same-call", True, False, ["proxy"], SECONDS
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"expect": {"allow": "$PUB4_A"}}, {"decisive": "listed", "allowed": True}),
        ({"expect": {"error": True}}, {"decisive": "forbidden", "allowed": False}),
        ({"seconds": 3}, {"seconds": 3}),
        ({"channels": ["records"]}, {"channels": ["proxy", "records"]}),
        (
            {"request": {"client": "curl", "url": "http://x/"}},
            {"attack": "proxy_client", "twin": "same-call"},
        ),
        (
            {"request": {"client": "curl", "url": "http://x/"}, "expect": {"allow": "$PUB4_A"}},
            {"attack": "proxy_client", "twin": "alive"},
        ),
        ({"request": {"stress": "garbage", "then": {"connect": "x:443"}}}, {"attack": "proxy_stress"}),
    ],
)
def test_what_the_row_says_decides_the_rest(change: dict[str, Any], wanted: dict[str, Any]) -> None:
    found = said(ROW | change)
    assert {key: found[key] for key in wanted} == wanted


def test_the_last_step_decides() -> None:
    steps = [
        {"request": {"connect": "x:443"}, "expect": {"allow": "$PUB4_A"}},
        {"expect": {"change": "refused"}},
    ]
    row = {"id": "row", "policy": {}, "steps": steps}
    assert said(row)["allowed"]
    steps[1]["expect"] = {"change": "refused", "deny": "unlisted"}
    assert not said(row)["allowed"]


def test_a_dial_that_no_listener_sees_needs_the_log() -> None:
    unseen = ("MC4",)
    assert said(ROW | {"never_dial": ["$MC4"]}, unseen)["channels"] == ["dial-log", "proxy"]
    assert said(ROW | {"never_dial": ["$MC4", "$PUB4_A"]}, unseen)["channels"] == ["proxy"]
    assert said(ROW | {"never_dial": ["$MC4"], "never_ask": ["x.test"]}, unseen)["channels"] == ["proxy"]


def test_a_decision_starts_nothing() -> None:
    found = said(LINT)
    assert (found["attack"], found["witness"], found["subject"]) == ("", "", "decision")
    assert found["plant"] == LINT["decide"]
    assert found["channels"] == ["decisions"]
    assert not found["allowed"]


def test_an_ordinary_row_is_left_as_it_is_and_a_direct_one_plants_its_lists() -> None:
    ordinary = {"id": "row", "attack": "lo_tcp", "plant": {"bind": "::1"}}
    assert said(ordinary) == ordinary
    direct = said(ordinary | {"policy": {"manifest": ["x.test"]}, "expect": {"ignored": True}})
    assert direct["plant"] == {"bind": "::1", "policy": {"manifest": ["x.test"]}, "expect": {"ignored": True}}
    assert replace(CASE, plant=direct["plant"]).direct


def test_the_host_beside_goes_where_the_row_has_entries() -> None:
    both = scene({"policy": {"manifest": ["a.test"], "tenant": ["b.test"]}, "request": {}})
    assert egress(both, {}, "x.test").manifest == ("a.test", "x.test")
    tenant = scene({"policy": {"tenant": ["b.test"]}, "request": {}})
    assert egress(tenant, {}, "x.test").tenant == ("b.test", "x.test")
    assert egress(tenant, {"tenant": ()}, "x.test").tenant == ("x.test",)
    assert egress(tenant, {"tenant": ()}, "").tenant == ()


def proxied(number: int) -> Case:
    return replace(CASE, id=f"proxied-{number}", world=True, channels=frozenset({Channel.PROXY}))


def test_rows_about_a_proxy_are_units_of_their_own_and_of_like_size() -> None:
    direct = replace(CASE, id="direct", world=True, plant={"policy": {}})
    decided = replace(CASE, id="decided", subject="decision", channels=frozenset({Channel.DECISIONS}))
    rows = [CASE, direct, decided, *(proxied(number) for number in range(2 * MOST + 1))]
    found = {unit.key: unit for unit in units(rows, [BOX], "linux")}
    assert [*found] == ["batch", "direct", "decision", "egress-1", "egress-2", "egress-3"]
    assert {len(found[f"egress-{number}"].cases) for number in (1, 2, 3)} <= {99, 101}
    assert [found[key].own_world for key in found] == [False, True, False, True, True, True]
    assert [found[key].needs_world for key in found] == [False, True, False, True, True, True]
    few = units([proxied(1)], [BOX], "linux")
    assert [unit.key for unit in few] == ["egress"]


def test_a_column_for_one_channel_has_only_rows_that_need_it() -> None:
    proxy = replace(BOX, id="proxy", only="proxy")
    found = units([CASE, proxied(1)], [BOX, proxy], "linux")
    assert [(unit.backend.id, len(unit.cases)) for unit in found] == [("box", 1), ("box", 1), ("proxy", 1)]


def test_rows_that_allow_come_after_those_that_forbid() -> None:
    allowed = replace(proxied(0), id="allowed", allowed=True)
    (unit,) = units([allowed, proxied(1), proxied(2)], [BOX], "linux")
    assert [case.id for case in unit.cases] == ["proxied-1", "proxied-2", "allowed"]
