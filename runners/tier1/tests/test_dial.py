"""The judged addresses are dialled by number, in order, and each is written down before."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address

import pytest

from runners.contract import Egress
from runners.tier1 import dial
from runners.tier1.addresses import Address
from runners.tier1.dial import MOST_TRIED, Detours, Direct, dialler, endpoint, reach
from runners.tier1.resolve import Unreached
from runners.tier1.tests.bed import OTHER, PUBLIC, SIX, Dials, looped, until

ADDRESSES = tuple(map(ip_address, (SIX, PUBLIC, OTHER)))


async def served(dials: Dials) -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0))
    dials.servers[443] = listener.getsockname()
    return listener


def test_an_endpoint_has_ipv6_in_brackets() -> None:
    assert [endpoint(each, 443) for each in ADDRESSES[:2]] == [f"[{SIX}]:443", f"{PUBLIC}:443"]


@looped
async def test_the_first_that_answers_and_no_other() -> None:
    dials, noted = Dials(), []
    dials.dead = {SIX}
    with await served(dials):
        found = await reach(dials, ADDRESSES, 443, noted.append)
    assert isinstance(found, socket.socket)
    found.close()
    assert dials.dialled == noted == [f"[{SIX}]:443", f"{PUBLIC}:443"]


@looped
async def test_one_that_is_silent_does_not_hold_up_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial, "HEAD_START", 0.01)
    dials = Dials()
    dials.silent = {SIX}
    with await served(dials):
        found = await reach(dials, ADDRESSES, 443, lambda _: None)
    assert isinstance(found, socket.socket)
    found.close()


@looped
async def test_nothing_is_dialled_that_is_not_noted_before() -> None:
    class Late(Dials):
        async def dial(self, address: Address, port: int) -> socket.socket:
            assert noted[-1] == endpoint(address, port)
            return await super().dial(address, port)

    noted: list[str] = []
    assert await reach(Late(), ADDRESSES, 443, noted.append) == Unreached(
        502, "the server could not be reached"
    )
    assert len(noted) == len(ADDRESSES)


@looped
async def test_attempts_and_time_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial, "HEAD_START", 0.0)
    monkeypatch.setattr(dial, "SECONDS", 0.02)
    dials = Dials()
    many = [ip_address(f"11.22.34.{each}") for each in range(64)]
    dials.silent = {str(each) for each in many}
    found = await reach(dials, many, 443, lambda _: None)
    assert isinstance(found, Unreached)
    assert (found.status, len(dials.dialled)) == (504, MOST_TRIED)
    assert await reach(dials, (), 443, lambda _: None) == Unreached(502, "the server could not be reached")


@looped
async def test_a_call_that_is_cut_leaves_no_connection() -> None:
    """Also where the connection was made in the moment of the cut."""
    made: list[socket.socket] = []
    gate = asyncio.Event()

    class Slow(Dials):
        async def dial(self, address: Address, port: int) -> socket.socket:
            self.dialled.append(endpoint(address, port))
            await gate.wait()
            made.append(socket.socket())
            return made[-1]

    dials = Slow()
    task = asyncio.create_task(reach(dials, ADDRESSES[:1], 443, lambda _: None))
    await until(lambda: dials.dialled)
    gate.set()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: made and made[0].fileno() < 0)


@looped
async def test_detours_and_nothing_else() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = dialler(
            Egress(detours={f"{PUBLIC}:443": listener.getsockname(), f"[{SIX}]:443": ("127.0.0.1", 1)})
        )
        assert isinstance(made, Detours)
        (await made.dial(ip_address(PUBLIC), 443)).close()
        for address, port in ((PUBLIC, 80), (OTHER, 443), ("127.0.0.1", listener.getsockname()[1])):
            with pytest.raises(OSError, match="unreachable"):
                await made.dial(ip_address(address), port)
        with pytest.raises(ConnectionRefusedError):
            await made.dial(ip_address(SIX), 443)
    assert isinstance(dialler(Egress()), Direct)


@looped
async def test_direct() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        (await Direct().dial(ip_address("127.0.0.1"), port)).close()
    with pytest.raises(ConnectionRefusedError):
        await Direct().dial(ip_address("127.0.0.1"), port)
