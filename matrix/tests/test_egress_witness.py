"""The witness of rows about a proxy: what it tells an attack in each arm, and what it sees to itself."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from matrix.evidence import Arrived, Attempted, Missed, Nothing, Refused, Seen
from matrix.internet.stage import Stage
from matrix.meeting import BROKEN
from matrix.model import Case
from matrix.proxied import plain
from matrix.witnesses.contract import Ground
from matrix.witnesses.egress import Witness
from runners.contract import Channel, Denial, Egress, Identity

REFUSED = Attempted(said=Refused(errno=13, text="403"), steps=("proxy", "forbidden"))
DENY = {"deny": "unlisted"}
TWICE = {
    "answers": {"one.test": [{"A": ["$PUB4_A"]}], "two.test": [{"A": ["$PUB4_B"]}]},
    "steps": [
        {"request": {"connect": "one.test:443"}, "expect": DENY, "never_dial": ["$PUB4_A"]},
        {"request": {"connect": "two.test:443"}, "expect": DENY, "never_dial": ["$PUB4_B"]},
    ],
}
UNSEEN = {"request": {"connect": "one.test:443"}, "expect": DENY, "never_dial": ["$PUB4_A"]}
CLIENT = {"request": {"client": "curl", "url": "http://one.test/"}, "expect": {"allow": "$PUB4_A"}}


class Proxy:
    """A started sandbox with a proxy, as far as the witness asks."""

    neighbour = ""
    logged: tuple[str, ...] = ()

    def renew(self, egress: Egress) -> None:
        pass

    def change(self, egress: Egress) -> tuple[str, ...]:
        return ()

    def denials(self) -> tuple[Denial, ...]:
        return ()

    def proposals(self) -> tuple[()]:
        return ()

    def dials(self) -> tuple[str, ...]:
        return self.logged

    def log(self) -> str:
        return ""


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with Stage(in_world=False) as stage:
        monkeypatch.setattr(Stage, "_ours", stage)
        yield stage


Watch = Callable[..., Witness]


@pytest.fixture
def watch(tmp_path: Path, stage: Stage) -> Watch:
    """A planted witness of a row, with a proxy that has been started."""

    def made(row: dict[str, Any], arm: str = "attempt", proxy: Proxy | None = None) -> Witness:
        given = plain({"id": "row", "title": "", "mechanism": "egress", "platforms": ("linux",), **row}, ())
        case = Case(**{**given, "channels": frozenset(Channel(each) for each in given["channels"])})
        corner = tmp_path / arm
        corner.mkdir()
        witness = Witness(
            Ground(
                case=case,
                arm=arm,
                run=tmp_path,
                workspace=tmp_path,
                corner=corner,
                identity=Identity.current(),
                record=lambda kind, name: None,
                place=lambda place: tmp_path,
            )
        )
        witness.planted = witness.plant()
        witness.started(proxy or Proxy())
        return witness

    return made


def meet(witness: Witness, moment: str = "") -> str:
    """Come to a meeting as an attack does; gives what the witness says."""
    suffix = f"-{moment}" if moment else ""
    (witness.ground.corner / f"ready{suffix}").touch()
    witness.look(None)
    return (witness.ground.corner / f"met{suffix}").read_text()


def dial(stage: Stage, address: str, data: bytes) -> None:
    with socket.create_connection(stage.ground.way(address, 443), 5) as connection:
        connection.sendall(data + b"\r\n\r\n")
        connection.recv(100)


def test_a_control_goes_through_all_steps_and_an_attempt_ends_with_what_got_out(watch: Watch) -> None:
    words = {
        arm: [step["step"] for step in watch(TWICE, arm).planted.told["steps"]]
        for arm in ("before", "attempt")
    }
    assert words == {"before": ["open", "open"], "attempt": ["forbidden", "forbidden"]}


def test_a_control_that_crosses_at_its_first_step_alone_shows_nothing(watch: Watch, stage: Stage) -> None:
    control = watch(TWICE, "before")
    for moment, address in ("", "11.22.33.44"), ("1", "11.22.33.55"):
        assert control.look(REFUSED) == Nothing()
        meet(control, moment)
        dial(stage, address, f"X-Marker: {control.ground.token}.{moment or 0}".encode())
    assert isinstance(control.look(REFUSED), Seen)


@pytest.mark.parametrize(("channels", "seen"), [((), Nothing), (("dial-log",), Seen)])
def test_a_control_s_own_log_counts_where_the_row_needs_one(
    watch: Watch, channels: tuple[str, ...], seen: type
) -> None:
    proxy = Proxy()
    control = watch({**UNSEEN, "channels": channels}, "before", proxy)
    meet(control)
    proxy.logged = ("11.22.33.44:65093",)
    meet(control, "twin")
    assert isinstance(control.look(REFUSED), seen)


@pytest.mark.parametrize("status", ["500 Unable to connect", "502 Bad Gateway", "503 Service Unavailable"])
def test_a_proxy_that_could_not_has_refused_nothing(watch: Watch, status: str) -> None:
    witness = watch(UNSEEN)
    meet(witness)
    said = Refused(errno=13, text=f"[Errno 13] HTTP/1.1 {status}")
    assert isinstance(witness.delivery(Attempted(said=said, steps=("forbidden",))), Missed)
    assert isinstance(witness.delivery(REFUSED), Arrived)


def test_a_neighbour_s_proxy_that_is_not_there_is_no_refusal(watch: Watch) -> None:
    proxy = Proxy()
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy.neighbour = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert meet(watch(UNSEEN, "attempt", proxy)) == proxy.neighbour
    said = meet(watch(UNSEEN, "after", proxy))
    assert said.startswith(BROKEN)
    assert "is not there" in said


def test_a_row_without_a_twin_ends_with_a_meeting_at_which_the_records_are_kept(watch: Watch) -> None:
    witness = watch(CLIENT)
    meet(witness)
    assert witness.kept is None
    meet(witness, witness.planted.told["last"])
    assert witness.kept is not None
    assert "last" not in watch(UNSEEN, "after").planted.told
