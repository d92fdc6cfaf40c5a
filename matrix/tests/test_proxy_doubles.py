"""Each way in which a proxy can lie gets the verdict of the table, and is never held for nothing."""

from __future__ import annotations

import pytest

from matrix import world
from matrix.model import Reason
from matrix.tests import proxies

HELD, ESCAPED = "held", "escaped"
FAULT, OVER, EARLY = str(Reason.FAULT), str(Reason.OVER_REFUSED), str(Reason.STOPPED_EARLY)
UNSURE, NOT_STARTED = str(Reason.UNCONFIRMED), str(Reason.NOT_STARTED)

# unlisted, private, allowed, removed
WANTED = {
    "holds": (HELD, HELD, HELD, HELD),
    "leaks": (ESCAPED, ESCAPED, HELD, ESCAPED),
    "refuses everything": (OVER, ESCAPED, OVER, EARLY),  # private: it records another kind than the row says
    "dead": (EARLY, EARLY, EARLY, EARLY),
    "never starts": (NOT_STARTED, NOT_STARTED, NOT_STARTED, NOT_STARTED),
    "answers by itself": (UNSURE, UNSURE, UNSURE, UNSURE),
    "cannot resolve": (UNSURE, UNSURE, OVER, EARLY),
    "allows elsewhere": (ESCAPED, ESCAPED, ESCAPED, ESCAPED),
    "answers the twin alone": (HELD, ESCAPED, OVER, EARLY),
    "dies in mid-batch": (HELD, HELD, FAULT, FAULT),
    "is deaf to changes": (HELD, HELD, HELD, ESCAPED),
    "records another kind": (ESCAPED, ESCAPED, HELD, ESCAPED),
    "keeps no record": (ESCAPED, ESCAPED, HELD, ESCAPED),
    "tells the address": (ESCAPED, ESCAPED, HELD, ESCAPED),
    "dials later": (
        ESCAPED,
        ESCAPED,
        HELD,
        HELD,
    ),  # without a byte, in the time of a row that says nothing of it
    "hangs": (FAULT,),
}


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, tuple[str, str]]]:
    if isinstance(here := world.standing(), world.Impossible):
        pytest.skip(here.why)
    return world.call(proxies.all_verdicts, [*WANTED], 1.0)


@pytest.mark.parametrize("mode", WANTED)
def test_a_proxy_gets_the_verdict_of_the_table(
    found: dict[str, dict[str, tuple[str, str]]], mode: str
) -> None:
    assert tuple(word for word, _ in found[mode].values()) == WANTED[mode], found[mode]


def test_what_is_held_says_why(found: dict[str, dict[str, tuple[str, str]]]) -> None:
    evidence = {row: said for row, (_, said) in found["holds"].items()}
    assert evidence["unlisted"].startswith("refused: forbidden: EACCES (HTTP/1.1 403 Forbidden: unlisted")
    assert evidence["allowed"] == "allowed: arrived at 11.22.33.44 port 443"
