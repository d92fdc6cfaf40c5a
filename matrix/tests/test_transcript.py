"""What is heard of a launch: only whole lines with its nonce, and nothing that was not said."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.evidence import Absent, Acted, Died, NotStarted, Refused, Silent, TimedOut, Unsupported
from matrix.transcript import Task, read, request

NONCE = "em-nonce"
TASK = Task(id="row", attack="a", told={"path": "/x"}, seconds=1, alive="/ws/alive", token="secret-token")


def lines(*facts: dict[str, object], nonce: str = NONCE) -> bytes:
    return b"".join(f"{nonce} {json.dumps(each)}\n".encode() for each in facts)


def heard(*facts: dict[str, object], ended: str = "exit code 0"):
    hello = {"kind": "hello"}
    return read(NONCE, [TASK], lines(hello, *facts), ended=ended).attempts["row"]


BEGIN = {"kind": "begin", "id": "row"}
END = {
    "kind": "end",
    "id": "row",
    "code": 0,
    "signal": 0,
    "late": False,
    "seconds": 0.5,
    "alive": "secret-token",
}


def said(**facts: object) -> dict[str, object]:
    return {"kind": "said", "id": "row", **facts}


def test_the_request_tells_no_token() -> None:
    asked = json.loads(request(NONCE, [TASK]))
    assert asked["attempts"] == [
        {"id": "row", "attack": "a", "told": {"path": "/x"}, "seconds": 1, "alive": "/ws/alive"}
    ]
    assert "secret-token" not in request(NONCE, [TASK])


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"said": "refused", "errno": 13}, Refused(errno=13)),
        ({"said": "acted", "trace": "t", "inside": ""}, Acted(trace="t", inside="")),
        ({"said": "absent", "looked_at": "/proc"}, Absent(looked_at="/proc")),
        ({"said": "unsupported", "why": "no"}, Unsupported(why="no")),
        ({"said": "timed_out"}, TimedOut()),
        ({"said": "crashed", "text": "KeyError: 'x'"}, Silent(why="KeyError: 'x'")),
        ({"said": "held"}, Silent(why="the attempt crashed")),
    ],
)
def test_each_word_means_one_thing(facts: dict[str, object], expected: object) -> None:
    one = heard(BEGIN, said(**facts), END)
    assert one.said == expected
    assert one.alive


def test_steps_come_in_their_order() -> None:
    steps = [{"kind": "step", "id": "row", "step": name} for name in ("socket", "connect")]
    assert heard(BEGIN, *steps, said(said="refused", errno=1), END).steps == ("socket", "connect")


def test_nothing_said_is_never_a_refusal() -> None:
    assert isinstance(heard().said, Silent)
    assert isinstance(heard(BEGIN).said, Silent)
    assert isinstance(heard(BEGIN, END).said, Silent)
    assert heard(BEGIN, {**END, "late": True}).said == TimedOut()
    assert heard(BEGIN, {**END, "signal": 31}).said == Died(signal=31)


def test_without_hello_nothing_started_whatever_else_was_printed() -> None:
    output = lines(BEGIN, said(said="refused", errno=1), END)
    assert read(NONCE, [TASK], output, ended="exit code 127").attempts["row"].said == NotStarted(
        why="exit code 127"
    )


def test_another_launch_is_not_heard() -> None:
    output = lines({"kind": "hello"}, BEGIN, said(said="refused", errno=1), END, nonce="other")
    assert not read(NONCE, [TASK], output, ended="x").hello


def test_the_first_word_counts() -> None:
    one = heard(BEGIN, said(said="acted", trace=""), said(said="refused", errno=1), END)
    assert one.said == Acted()


def test_a_wrong_token_is_no_sign_of_life() -> None:
    assert not heard(BEGIN, said(said="refused", errno=1), {**END, "alive": "other"}).alive


@given(st.binary(max_size=400))
def test_any_bytes_can_be_read(noise: bytes) -> None:
    output = lines({"kind": "hello"}) + noise + b"\n" + NONCE.encode() + b" " + noise + b"\n" + lines(BEGIN)
    found = read(NONCE, [TASK], output, ended="x")
    assert found.hello
    assert isinstance(found.attempts["row"].said, Silent)


def test_an_attempt_that_ran_twice_was_not_refused() -> None:
    """A launcher that runs the command confined, then once more without: only one of them was refused."""
    refused = said(said="refused", errno=13)
    for twice in ((BEGIN, refused, END, BEGIN, refused, END), (BEGIN, refused, refused, END)):
        assert isinstance(heard(*twice).said, Silent)
    acted = said(said="acted", trace="canary", inside="")
    for order in ((refused, acted), (acted, refused)):
        found = heard(BEGIN, order[0], END, BEGIN, order[1], END).said
        assert found == Acted(trace="canary", inside="")


def test_what_could_be_tried_in_no_run_is_unsupported() -> None:
    unsupported = said(said="unsupported", why="no")
    found = heard(BEGIN, unsupported, END, BEGIN, unsupported, END).said
    assert found == Unsupported(why="no")


def test_a_private_copy_in_one_of_two_runs_is_none() -> None:
    copy = said(said="acted", trace="", inside="here")
    found = heard(BEGIN, copy, END, BEGIN, copy, END).said
    assert isinstance(found, Acted)
    assert not found.inside
