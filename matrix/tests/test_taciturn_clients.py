"""A client that shows a status at most is not asked for the lists: the record is."""

import pytest

from matrix import refusals
from matrix.oracles import Kept, Moment, View
from matrix.scene import scene
from runners.contract import Denial, Proposal

FIX = "add x.test to the manifest's egress or to the tenant's list"
DENIAL = Denial(kind="unlisted", host="x.test", port=443, remedy=("manifest", "tenant"), fix=FIX)
PROPOSAL = Proposal(lists=("manifest", "tenant"), entry="x.test")


def view(client, told, *denials):
    row = {
        "policy": {"manifest": [], "tenant": []},
        "answers": {"x.test": [{"A": ["11.22.33.55"]}]},
        "request": {"client": client, "url": "https://x.test/"},
        "expect": {"deny": "unlisted", "learn": "x.test"},
        "never_dial": ["11.22.33.55"],
    }
    kept = Kept(
        denials=denials, proposals=(PROPOSAL,) if denials else (), dials=(), log=FIX if denials else ""
    )
    return View(
        scene=scene(row),
        token="em0",
        moments=(Moment(at=0.0),),
        arrivals=(),
        queries=(),
        kept=kept,
        told=told,
    )


@pytest.mark.parametrize("client", sorted(refusals.TACITURN))
def test_the_record_is_enough(client):
    assert refusals.recorded(view(client, "403", DENIAL)) == ""
    assert refusals.recorded(view(client, "403")), "without a record nobody knows which list"


def test_any_other_client_must_be_told():
    assert "not told" in refusals.recorded(view("curl", "403", DENIAL))
    assert refusals.recorded(view("curl", "403 unlisted: manifest, tenant", DENIAL)) == ""
