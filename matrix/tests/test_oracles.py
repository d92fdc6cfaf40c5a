"""What counts as crossed, what as told, what as a wrong record: each oracle fires, and keeps still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from matrix import oracles, refusals
from matrix.evidence import Arrived, Missed
from matrix.oracles import Kept, Moment, View
from matrix.scene import scene
from runners.contract import Denial, Proposal

PUBLIC, PRIVATE = "11.22.33.44", "10.11.12.13"
NAME = "wiki.corp.test"
DENY = {
    "policy": {"manifest": [NAME]},
    "answers": {NAME: [{"A": [PRIVATE]}]},
    "request": {"connect": f"{NAME}:443"},
    "expect": {"deny": "private", "class": "private", "learn": NAME},
    "never_dial": [PRIVATE],
}
ALLOW = DENY | {"expect": {"allow": PUBLIC}, "never_dial": [PRIVATE]}
REMOVED = {
    "policy": {"tenant": [NAME]},
    "answers": {NAME: [{"A": [PRIVATE]}]},
    "steps": [
        {"request": {"connect": f"{NAME}:443"}, "expect": {"allow": PRIVATE}},
        {
            "change": {"tenant": []},
            "request": {"connect": f"{NAME}:443"},
            "expect": {"deny": "unlisted"},
            "never_dial": [PRIVATE],
        },
    ],
}
ADDED = {
    "policy": {"manifest": [NAME]},
    "answers": {NAME: [{"A": [PRIVATE]}]},
    "steps": [
        DENY,
        {"change": {"tenant": [NAME]}, "request": DENY["request"], "expect": {"allow": PRIVATE}},
    ],
}
REFUSED = "HTTP/1.1 403 Forbidden: private; add to the tenant's list"
RECORD = Denial(
    kind="private", host=NAME, port=443, address_class="private", address=PRIVATE, remedy=("tenant",)
)
PROPOSAL = Proposal(lists=("tenant",), entry=NAME)
GOOD = Kept(denials=(RECORD,), proposals=(PROPOSAL,), log=f"refused {NAME}: {PRIVATE}")


@dataclass(frozen=True)
class Came:
    """An arrival."""

    address: str
    data: bytes = b""
    at: float = 1.5
    port: int = 443
    sni: str = ""


@dataclass(frozen=True)
class Asked:
    """A query."""

    name: str


def view(row: dict[str, Any] = DENY, **facts: Any) -> View:
    """One step begins at each second."""
    staged = scene(row)
    moments = tuple(Moment(at=float(number)) for number in range(len(staged.steps)))
    return View(
        **{"scene": staged, "token": "em0", "moments": moments, "kept": GOOD, "told": REFUSED} | facts
    )


def marked(address: str, number: int = 0, **more: Any) -> Came:
    return Came(address, f"GET / HTTP/1.1\r\nX-Marker: em0.{number}\r\n\r\n".encode(), **more)


class TestOutside:
    def test_a_refused_call_that_left_nothing_crosses_nothing(self):
        assert oracles.outside(view()) == ""
        assert oracles.outside(view(arrivals=[Came(PUBLIC, b"X-Marker: em1.0")])) == ""

    @pytest.mark.parametrize("address", [PRIVATE, "::ffff:10.11.12.13", "::ffff:a0b:c0d"])
    def test_a_forbidden_dial_crosses_even_without_a_byte(self, address):
        assert "was dialled" in oracles.outside(view(arrivals=[Came(address)]))

    def test_the_proxy_s_own_log_of_dials_counts(self):
        kept = Kept(dials=(f"{PRIVATE}:443",))
        assert "log says" in oracles.outside(view(kept=kept))
        mapped = Kept(dials=("[::ffff:10.11.12.13]:443",))
        assert "log says" in oracles.outside(view(kept=mapped))

    def test_a_dial_counts_from_its_moment_on(self):
        assert oracles.outside(view(REMOVED, arrivals=[marked(PRIVATE, at=0.5)])) == ""
        assert "was dialled" in oracles.outside(view(REMOVED, arrivals=[Came(PRIVATE, at=1.5)]))

    def test_what_a_change_has_opened_since_is_forbidden_until_then(self):
        assert "was dialled" in oracles.outside(view(ADDED, arrivals=[Came(PRIVATE, at=0.5)]))
        assert oracles.outside(view(ADDED, arrivals=[marked(PRIVATE, 1, at=1.5)])) == ""
        dialled = Kept(dials=(f"{PRIVATE}:443",))
        early = (Moment(at=0.0), Moment(at=1.0, kept=dialled))
        assert "log says" in oracles.outside(view(ADDED, moments=early, kept=dialled))
        assert oracles.outside(view(ADDED, kept=dialled)) == ""

    def test_a_request_through_a_tunnel_that_was_open_before_crosses(self):
        tunnel = Came(PRIVATE, b"X-Marker: em0.0 ... X-Marker: em0.1", at=0.5)
        assert "the request arrived" in oracles.outside(view(REMOVED, arrivals=[tunnel]))

    def test_a_refused_request_that_arrives_anywhere_crosses(self):
        assert "arrived at 11.22.33.44" in oracles.outside(view(arrivals=[marked(PUBLIC)]))

    def test_an_allowed_request_that_arrives_elsewhere_crosses(self):
        assert oracles.outside(view(ALLOW, arrivals=[marked(PUBLIC)])) == ""
        assert "and not at" in oracles.outside(view(ALLOW, arrivals=[marked("11.22.33.55")]))

    def test_a_forbidden_text_crosses_in_bytes_and_as_a_server_s_name(self):
        row = DENY | {"never_send": ["other.test"]}
        assert "received" in oracles.outside(view(row, arrivals=[Came(PUBLIC, b"..other.test..")]))
        assert "received" in oracles.outside(view(row, arrivals=[Came(PUBLIC, sni="Other.test")]))
        assert oracles.outside(view(row, arrivals=[Came(PUBLIC, b"other", sni="another.test")])) == ""

    def test_a_forbidden_question_crosses(self):
        row = DENY | {"never_ask": ["Secret.test."]}
        assert "asked for" in oracles.outside(view(row, queries=[Asked("secret.test")]))
        assert oracles.outside(view(row, queries=[Asked("not.secret.test")])) == ""

    def test_the_canary_in_a_question_crosses(self):
        assert "asked for" in oracles.outside(view(queries=[Asked("em0-0.evil.test")]))
        assert oracles.outside(view(queries=[Asked("em1-0.evil.test")])) == ""

    def test_a_change_that_was_taken_crosses(self):
        row = {"policy": {}, "steps": [{"change": {"tenant": ["*"]}, "expect": {"change": "refused"}}]}
        taken, refused = Moment(at=0, faults=()), Moment(at=0, faults=("a star alone",))
        assert "took the change" in oracles.outside(view(row, moments=(taken,)))
        assert oracles.outside(view(row, moments=(refused,))) == ""
        assert oracles.delivery(view(row, moments=(refused,))) == Arrived(
            where="the change was refused: a star alone"
        )
        assert isinstance(oracles.delivery(view(row, moments=())), Missed)


class TestDelivery:
    def test_an_allowed_request_has_to_arrive_where_the_row_says(self):
        assert oracles.delivery(view(ALLOW, arrivals=[marked(PUBLIC)])) == Arrived(
            where="arrived at 11.22.33.44 port 443"
        )
        for arrivals in ([], [Came(PUBLIC)], [marked(PRIVATE)], [marked(PUBLIC, 1)]):
            assert isinstance(oracles.delivery(view(ALLOW, arrivals=arrivals)), Missed)

    def test_so_has_what_is_allowed_before_a_refusal(self):
        assert isinstance(oracles.delivery(view(REMOVED)), Missed)
        assert isinstance(oracles.delivery(view(REMOVED, arrivals=[marked(PRIVATE)])), Arrived)

    def test_what_only_has_to_be_refused_has_nothing_to_arrive(self):
        assert oracles.delivery(view()) == Arrived()


class TestTold:
    def test_a_refusal_by_its_class_tells_nothing(self):
        assert refusals.told(view()) == ""

    @pytest.mark.parametrize(
        "form",
        [
            "10.11.12.13",
            "0xa0b0c0d",
            "168496141",
            "13.12.11.10",
            "::ffff:10.11.12.13",
            "0a0b0c0d",
            "10-11-12-13",
        ],
    )
    def test_an_address_is_told_in_every_form(self, form):
        assert form in refusals.forms(PRIVATE)
        assert "must not know" in refusals.told(view(told=f"{REFUSED} ({form})."))

    def test_every_form_of_an_ipv6_address(self):
        row = DENY | {"answers": {NAME: [{"AAAA": ["fd12::5"]}]}, "never_dial": ["fd12::5"]}
        for form in (
            "fd12::5",
            "FD12:0000:0000:0000:0000:0000:0000:0005",
            "fd120000000000000000000000000005",
        ):
            assert "must not know" in refusals.told(view(row, told=form)), form

    def test_a_part_of_another_number_is_no_address(self):
        for other in ("110.11.12.13", "10.11.12.130", "10.11.12.13.5", "1168496141", "ab0a0b0c0d"):
            assert refusals.told(view(told=other)) == "", other

    def test_what_the_client_asked_for_it_knows(self):
        row = DENY | {"request": {"connect": f"{PRIVATE}:443"}}
        assert refusals.told(view(row, told=PRIVATE)) == ""

    def test_where_a_redirect_leads_the_client_knows(self):
        row = DENY | {"serves": {"/": f"302 http://{PRIVATE}/"}}
        assert refusals.told(view(row, told=PRIVATE)) == ""

    def test_a_text_of_the_row_s_own(self):
        row = DENY | {"never_tell": ["alias.corp.test"]}
        assert "alias.corp.test" in refusals.told(view(row, told="no: Alias.corp.test"))
        assert refusals.told(view(row)) == ""


def kept(**facts: Any) -> Kept:
    record = {field: getattr(RECORD, field) for field in RECORD.__dataclass_fields__} | facts
    return Kept(denials=(Denial(**record),), proposals=(PROPOSAL,))


class TestRecorded:
    def test_a_right_record_and_refusal(self):
        assert refusals.recorded(view()) == ""

    @pytest.mark.parametrize(
        ("facts", "said"),
        [
            ({"kept": Kept(proposals=(PROPOSAL,))}, "no record"),
            ({"kept": kept(kind="unlisted", remedy=("manifest", "tenant"))}, "recorded as unlisted"),
            ({"kept": kept(address_class="loopback")}, "recorded as loopback"),
            ({"kept": kept(remedy=("manifest", "tenant"))}, "remedy is manifest, tenant"),
            ({"kept": kept(address="")}, "does not have the address"),
            ({"kept": Kept(denials=(RECORD,))}, "proposed is nothing"),
            (
                {"kept": Kept(denials=(RECORD,), proposals=(Proposal(lists=("manifest",), entry=NAME),))},
                "proposed for manifest",
            ),
            ({"told": "HTTP/1.1 403 Forbidden"}, "not told that it is private"),
            ({"told": "403 private"}, "does not say 'tenant'"),
            ({"told": "403 private; the manifest or the tenant's list"}, "names the manifest"),
        ],
    )
    def test_what_is_wrong_is_said(self, facts, said):
        assert said in refusals.recorded(view(**facts))

    def test_what_is_allowed_leaves_no_record(self):
        assert "nothing is denied" in refusals.recorded(view(ALLOW))
        assert refusals.recorded(view(ALLOW, kept=Kept())) == ""

    def test_nothing_is_proposed_where_nothing_helps(self):
        row = DENY | {"expect": {"deny": "special", "learn": ""}}
        record = Denial(kind="special", host=NAME, port=443, address=PRIVATE)
        said = {"told": "403 special", "kept": Kept(denials=(record,), proposals=(PROPOSAL,))}
        assert "nothing is" in refusals.recorded(view(row, **said))

    def test_each_step_has_its_own_records(self):
        record = Denial(kind="unlisted", host=NAME, port=443, remedy=("manifest", "tenant"))
        late = (Moment(at=0), Moment(at=1, kept=Kept()))
        told = "403 unlisted: the manifest or the tenant's list"
        assert refusals.recorded(view(REMOVED, moments=late, kept=Kept(denials=(record,)), told=told)) == ""
        early = (Moment(at=0), Moment(at=1, kept=Kept(denials=(record,))))
        said = refusals.recorded(view(REMOVED, moments=early, kept=Kept(denials=(record,)), told=told))
        assert "nothing is denied" in said

    def test_the_log_has_what_the_row_wants_there(self):
        row = DENY | {"record_has": [PRIVATE, "wiki"]}
        assert refusals.recorded(view(row)) == ""
        assert "neither" in refusals.recorded(view(DENY | {"record_has": ["11.0.0.1"]}))

    def test_a_row_that_nobody_saw_to_its_end_says_nothing(self):
        assert refusals.recorded(view(kept=None)) == ""
        assert refusals.recorded(view(REMOVED, moments=(Moment(at=0),))) == ""

    def test_a_client_that_shows_a_status_at_most_is_not_asked_for_the_lists(self):
        row = DENY | {"request": {"client": "git", "url": f"https://{NAME}/"}}
        assert refusals.recorded(view(row, told="403")) == ""
