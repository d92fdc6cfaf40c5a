"""Each way in which a sandbox or the harness can lie gets the verdict of the table, end to end."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from matrix import arm
from matrix.arm import Setting
from matrix.execute import execute
from matrix.ledger import Run
from matrix.model import Backend, Escaped, Held, Leg, Reason, Untested
from matrix.plan import Unit
from matrix.record import amended
from matrix.smoke import smoke
from matrix.sweep import sweep
from matrix.tests.doubles import LEFT, READ, ROWS, TCP, WRITE, Double, judged
from matrix.witnesses import tcp
from runners.contract import Identity, Running

NOTHING_RAN = ["never_start", "nothing", "only_words", "empty_workspace", "lie_unheard"]


@pytest.fixture(autouse=True)
def _short_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arm, "START", 2.0)


def _verdicts(mode: str) -> dict[str, object]:
    return {case: one.verdict for case, one in judged(mode).items()}


def test_what_holds_is_held_by_its_own_refusal() -> None:
    assert _verdicts("hold") == {
        "tcp": Held(evidence="refused: connect: ECONNREFUSED"),
        "read": Held(evidence="refused: open: EPERM"),
        "write": Held(evidence="refused: open: EPERM"),
    }


@pytest.mark.parametrize("mode", ["leak", "fallback", "flood"])
def test_what_leaks_has_escaped(mode: str) -> None:
    found = _verdicts(mode)
    if mode == "flood":  # what comes after more than we keep was not heard, but the witnesses saw it
        assert isinstance(found["tcp"], Escaped)
        assert isinstance(found["write"], Escaped)
    else:
        assert all(isinstance(verdict, Escaped) for verdict in found.values())


@pytest.mark.parametrize("mode", NOTHING_RAN)
def test_where_nothing_ran_nothing_is_held(mode: str) -> None:
    for verdict in _verdicts(mode).values():
        assert isinstance(verdict, Untested)
        assert verdict.reason is Reason.NOT_STARTED


def test_a_hanging_sandbox_is_not_started() -> None:
    for verdict in _verdicts("hang").values():
        assert isinstance(verdict, Untested)
        assert verdict.reason is Reason.NOT_STARTED
        assert "deadline" in verdict.evidence


def test_a_crash_is_a_fault() -> None:
    for one in judged("crash", [TCP]).values():
        assert isinstance(one.verdict, Untested)
        assert one.verdict.reason is Reason.FAULT


def test_a_liar_does_not_know_the_fresh_token() -> None:
    found = _verdicts("lie")
    for verdict in found.values():
        assert isinstance(verdict, Untested)
    assert found["tcp"].reason is Reason.FAULT  # type: ignore[attr-defined]


def test_refusing_everything_is_over_refusal() -> None:
    found = _verdicts("refuse_all")
    for name in ("read", "write"):
        verdict = found[name]
        assert isinstance(verdict, Untested)
        assert verdict.reason is Reason.OVER_REFUSED


def test_a_throw_away_copy_of_the_workspace_is_over_refusal() -> None:
    verdict = judged("throw_away", [WRITE])["write"].verdict
    assert isinstance(verdict, Untested)
    assert verdict.reason is Reason.OVER_REFUSED


def test_a_command_that_ran_twice_is_judged_by_both() -> None:
    run = Run.create()
    try:
        assert not smoke("twice", Double("twice"), Setting(run=run, identity=Identity.current())).failure
    finally:
        sweep(run)
    found = judged("twice", [READ, WRITE])
    assert all(isinstance(one.verdict, Escaped) for one in found.values())


def test_what_cannot_be_written_anywhere_is_not_held() -> None:
    verdict = judged("file_size", [replace(WRITE, twin="alive")])["write"].verdict
    assert isinstance(verdict, Untested)
    assert verdict.reason is Reason.FAULT


def test_a_launcher_that_outstays_what_was_left_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was left expires by itself; nobody ended it."""
    monkeypatch.setattr(arm, "START", 8.0)
    verdict = judged("lingering", [LEFT])["left"].verdict
    assert isinstance(verdict, Untested)
    assert "stayed" in verdict.evidence


def test_a_canary_after_the_exit_has_escaped() -> None:
    assert isinstance(_verdicts("afterwards")["tcp"], Escaped)


def test_alone_gives_the_same_as_together() -> None:
    alone = {case: one.verdict for case, one in judged("hold", together=False).items()}
    assert alone == _verdicts("hold")


def test_a_witness_that_dies_in_mid_bracket_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dying(tcp.Witness):
        def started(self, running: Running) -> None:
            if self.ground.arm == "attempt":
                for listener in self.__dict__.values():
                    if hasattr(listener, "getsockname"):
                        listener.close()

    monkeypatch.setattr(tcp, "Witness", Dying)
    verdict = judged("hold", [TCP])["tcp"].verdict
    assert isinstance(verdict, Untested)
    assert verdict.reason is Reason.CONTROL_FLAPPED


def test_a_control_that_stops_working_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Flapping(tcp.Witness):
        def look(self, attempted: object) -> object:
            found = super().look(attempted)  # type: ignore[arg-type]
            return tcp.Nothing() if self.ground.arm == "after" else found

    monkeypatch.setattr(tcp, "Witness", Flapping)
    verdict = judged("hold", [TCP])["tcp"].verdict
    assert isinstance(verdict, Untested)
    assert verdict.reason is Reason.CONTROL_FLAPPED


@pytest.mark.parametrize("mode", [*NOTHING_RAN, "hang", "lie"])
def test_the_smoke_launch_sorts_out_what_cannot_count(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matrix.smoke.START", 2.0)
    run = Run.create()
    try:
        setting = Setting(run=run, identity=Identity.current())
        assert smoke(mode, Double(mode), setting).failure
        backend = Backend(id=mode, title=mode, runner="double", platforms=("linux",), options={}, claims=None)
        unit = Unit(backend=backend, key="batch", cases=ROWS)
        cells, vigil = execute(unit, Double(mode), setting, Leg(platform="linux", identity="user"))
        assert vigil.end() == []
        assert [cell.word for cell in cells] == ["untested"] * len(ROWS)
    finally:
        sweep(run)


def test_an_escape_that_only_the_batch_saw_stays_one() -> None:
    assert isinstance(judged("leak", [READ])["read"].verdict, Escaped)


def test_a_canary_after_the_verdict_amends_it() -> None:
    run = Run.create()
    leg = Leg(platform="linux", identity="user")
    backend = Backend(id="late", title="late", runner="double", platforms=("linux",), options={}, claims=None)
    try:
        setting = Setting(run=run, identity=Identity.current())
        unit = Unit(backend=backend, key="batch", cases=(TCP,))
        (cell,), vigil = execute(unit, Double("hold"), setting, leg)
        assert cell.word == "held"
        told = vigil.held[0][1].tasks[0].told
        with socket.create_connection((told["address"], told["port"])) as late:
            late.sendall(told["token"].encode())
        (amend,) = vigil.end()
        assert amended([cell], [amend])[0].word == "escaped"
    finally:
        sweep(run)
