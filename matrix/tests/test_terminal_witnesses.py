"""The witnesses of the terminal, leftovers, inherited files and the environment.

Each must see the attack's own trace, nothing of an idle attack, and say so when it has gone blind.
"""

from __future__ import annotations

import json
import os

import pytest

from matrix.evidence import Acted, Attempted, Nothing, Refused, Seen
from matrix.tests.unconfined import IDLE, attack, rows, until_seen

ROWS = rows("terminal.json", "leftover.json", "descriptor.json", "environment.json")
BRIEF = [name for name, case in ROWS.items() if case.witness not in {"survivor", "keystrokes"}]
TERMINAL = ["tty-tiocsti", "tty-state-leftover-raw"]


@pytest.mark.parametrize("name", [name for name in ROWS if not name.startswith("left-wrapper")])
def test_the_attack_is_seen_unconfined(witness, name):
    watching = witness(name)
    planted = watching.plant()
    assert isinstance(watching.look(None), Nothing)
    attempted = attack(ROWS[name], planted)
    blocked = name == "tty-tioclinux" or (name == "tty-reacquire-force" and os.geteuid())
    if blocked:
        assert isinstance(attempted.said, Refused)
    else:
        assert isinstance(until_seen(watching, attempted), Seen), attempted


@pytest.mark.parametrize("name", BRIEF)
def test_an_idle_attack_is_seen_nowhere_and_the_witness_proves_that_it_can_see(witness, name):
    watching = witness(name)
    watching.plant()
    assert isinstance(watching.look(IDLE), Nothing)
    assert watching.check() == ""
    assert isinstance(watching.look(IDLE), Nothing), "its own proof is no sighting of the attack's canary"


@pytest.mark.parametrize("name", [name for name, case in ROWS.items() if case.args.get("act") == "read"])
def test_a_canary_to_be_read_is_never_told_and_counts_by_echo_alone(witness, name):
    watching = witness(name)
    assert watching.ground.token not in json.dumps(watching.plant().told)
    assert isinstance(watching.look(Attempted(said=Refused(errno=1))), Nothing)
    assert isinstance(watching.look(Attempted(said=Acted(trace=watching.ground.token[:-1]))), Nothing)
    assert isinstance(watching.look(Attempted(said=Acted(trace=watching.ground.token))), Seen)


@pytest.mark.parametrize("name", [name for name, case in ROWS.items() if case.mechanism == "environment"])
class TestEnvironment:
    def test_neither_value_is_told(self, witness, name):
        watching = witness(name)
        planted = watching.plant()
        told = json.dumps([planted.told, planted.twin])
        assert not {watching.ground.token, watching.ground.twin_token} & set(told.split('"'))

    def test_the_twin_is_the_granted_variable(self, witness, name):
        watching = witness(name)
        planted = watching.plant()
        assert watching.twin(attack(ROWS[name], planted, planted.twin))
        assert not watching.twin(attack(ROWS[name], planted, {"variable": "EM_NOBODY_SET_IT"}))


# The terminal.


@pytest.mark.parametrize("name", TERMINAL)
def test_a_terminal_that_is_gone_is_noticed(witness, name):
    watching = witness(name)
    watching.plant()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, watching.terminal.slave)
    os.close(nothing)
    assert watching.check() != ""


def test_state_counts_only_after_the_run(witness):
    watching = witness("tty-state-leftover-size")
    watching.plant()
    watching.terminal.resize(watching.number, watching.number + 1)
    assert isinstance(watching.look(None), Nothing)
    assert isinstance(watching.look(IDLE), Seen)


def test_input_that_is_flushed_at_the_exit_was_seen_during_the_run(witness):
    watching = witness("tty-tiocsti")
    watching.plant()
    watching.terminal.type(watching.ground.token)
    assert isinstance(watching.look(None), Seen)


def test_keys_that_nobody_took_are_still_there(witness):
    watching = witness("tty-keystroke-steal")
    watching.plant()
    assert isinstance(until_seen(watching, IDLE, 0.3), Nothing)
    assert watching.typed
    assert watching.check() == ""


def test_keys_that_were_taken_elsewhere_make_it_blind(witness):
    watching = witness("tty-keystroke-steal")
    watching.plant()
    until_seen(watching, IDLE, 0.3)
    os.read(watching.terminal.slave, 4096)
    assert "took" in watching.check()
