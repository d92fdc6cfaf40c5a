"""What is asked for is judged, resolved, judged by every address, and dialled as it was judged."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.contract import Denial
from runners.tier1.addresses import Address
from runners.tier1.head import Head
from runners.tier1.judge import Listed
from runners.tier1.proxy import Proxy
from runners.tier1.resolve import Unreached
from runners.tier1.tests.bed import GET, GOOD, HOST, OTHER, PRIVATE, PUBLIC, SIX, WIKI, Bed, looped, until


def connect(target: str) -> bytes:
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()


@looped
async def test_a_listed_host_is_dialled_by_its_address() -> None:
    async with Bed() as bed:
        client = await bed.tunnel()
        assert await (await client.say(b"hello")).exactly(5) == b"hello"
        assert bed.dials.dialled == list(bed.proxy.journal.dials) == [f"{PUBLIC}:443"]
        assert bed.kinds() == []


# request, lists → kind, class, and what the answer and the record say
REFUSED = [
    (connect("other.unlisted.test:443"), (HOST,), (), "unlisted", "", "manifest, tenant"),
    (GET.replace(HOST.encode(), b"other.unlisted.test"), (HOST,), (), "unlisted", "", "manifest, tenant"),
    (connect(f"{HOST}:8443"), (HOST,), (), "unlisted", "", "manifest, tenant"),
    (GOOD, (), (), "unlisted", "", "manifest, tenant"),
    (connect(f"{WIKI}:443"), (WIKI,), (), "private", "private", "tenant"),
    (connect(f"{PRIVATE}:443"), (PRIVATE,), (), "private", "private", "tenant"),
    (connect("127.0.0.1:443"), (), ("127.0.0.1",), "special", "loopback", "none"),
    (GET.replace(b"Host: api", b"Host: other"), (HOST,), (), "mismatch", "", "none"),
    (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", (HOST,), (), "malformed", "", "none"),
    (b"\x05\x01\x00", (HOST,), (), "malformed", "", "none"),
]


@pytest.mark.parametrize(("raw", "manifest", "tenant", "kind", "of", "remedy"), REFUSED)
@looped
async def test_refused(
    raw: bytes, manifest: tuple[str, ...], tenant: tuple[str, ...], kind: str, of: str, remedy: str
) -> None:
    async with Bed(manifest, tenant) as bed:
        said = (await bed.ask(raw)).decode()
        (denial,) = bed.proxy.journal.denials
        assert bed.dials.dialled == []
        assert bed.names.asked == ([WIKI] if WIKI in str(raw) else [])
        assert (await bed.tunnel()) if manifest == (HOST,) else True  # it goes on
    status = "400 Bad Request" if kind == "malformed" else "403 Forbidden"
    assert said.startswith(f"HTTP/1.1 {status}: {kind}")
    assert f"X-Denial-Kind: {kind}\r\n" in said
    assert f"X-Denial-Remedy: {remedy}\r\n" in said
    assert PRIVATE not in said or PRIVATE in raw.decode("latin-1")
    assert (denial.kind, denial.address_class, ", ".join(denial.remedy) or "none") == (kind, of, remedy)
    assert (PRIVATE in bed.proxy.journal.text()) == (PRIVATE in str(raw) or WIKI in str(raw))


@looped
async def test_all_addresses_are_judged_and_the_dead_ones_passed_over() -> None:
    async with Bed() as bed:
        bed.names.table[HOST] = (SIX, PUBLIC)
        bed.dials.dead = {SIX}
        await bed.tunnel()
        assert bed.dials.dialled == [f"[{SIX}]:443", f"{PUBLIC}:443"]
        bed.names.table[HOST] = (PUBLIC, PRIVATE)
        assert b"403" in await bed.ask(GOOD)
        assert len(bed.dials.dialled) == 2
        assert bed.kinds() == ["private"]


@looped
async def test_the_nodes_own_addresses_are_never_reached() -> None:
    async with Bed((HOST,), (PRIVATE, "127.0.0.1"), own=(PUBLIC, PRIVATE, "127.0.0.1")) as bed:
        assert b"X-Denial-Class: loopback\r\n" in await bed.ask(connect("127.0.0.1:443"))
        for raw in (GOOD, connect(f"{PRIVATE}:443")):
            assert b"X-Denial-Class: self\r\n" in await bed.ask(raw)
        assert bed.kinds() == ["special"] * 3
        assert bed.dials.dialled == []


@looped
async def test_what_is_no_denial_is_not_on_record() -> None:
    async with Bed((HOST, "gone.test", f"{HOST}:9")) as bed:
        assert (await bed.ask(connect("gone.test:443"))).startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
        refused = await bed.ask(connect(f"{HOST}:9"))
        assert refused.startswith(b"HTTP/1.1 502 ")
        assert b"X-Denial" not in refused
        assert PUBLIC.encode() not in refused
        assert bed.kinds() == []


@looped
async def test_a_slow_head_is_ended_and_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runners.tier1.visit.HEAD", 0.05)
    async with Bed() as bed:
        slow = [await (await bed.client()).say(b"CONNECT a") for _ in range(20)]
        await bed.tunnel()
        for client in slow:
            assert (await client.head()).startswith(b"HTTP/1.1 408 ")
            client.close()
        await until(lambda: len(bed.proxy._visits) == 1)
        assert bed.kinds() == []


@looped
async def test_a_client_that_still_sends_reads_its_refusal() -> None:
    async with Bed() as bed:
        client = await bed.client()
        client.writer.write(b"CONNECT " + b"x" * (1 << 20))
        assert (await client.head()).startswith(b"HTTP/1.1 400 ")


@looped
async def test_more_clients_than_there_is_room_for_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runners.tier1.proxy.MOST_VISITS", 2)
    async with Bed() as bed:
        first, _ = await bed.tunnel(), await bed.tunnel()
        third = asyncio.create_task(bed.tunnel())
        first.close()
        await third


class JudgesNoAddress(Proxy):
    def permitted(
        self, listed: Listed, head: Head, addresses: tuple[Address, ...]
    ) -> tuple[Address, ...] | Denial:
        return addresses


class ResolvesFirst(Proxy):
    def listed(self, head: Head) -> Listed | Denial:
        self._task = asyncio.ensure_future(self.resolved(head))
        return super().listed(head)


class DialsAnother(Proxy):
    async def reached(self, head: Head, addresses: tuple[Address, ...]) -> object:  # type: ignore[override]
        again = await self.resolved(head)
        return again if isinstance(again, Unreached) else await super().reached(head, again)


@looped
async def test_the_bed_notices_a_wrong_proxy() -> None:
    async with Bed((WIKI,), make=JudgesNoAddress) as bed:
        await bed.tunnel(WIKI)
        assert bed.dials.dialled == [f"{PRIVATE}:443"]
    async with Bed(make=ResolvesFirst) as bed:
        await bed.ask(connect("other.unlisted.test:443"))
        assert bed.names.asked == ["other.unlisted.test"]
    async with Bed(make=DialsAnother) as bed:
        await bed.tunnel()
        assert bed.names.asked == [HOST, HOST]


FORBIDDEN = b"GET http://other.unlisted.test/ HTTP/1.1\r\nHost: other.unlisted.test\r\n\r\n"
SHREDS = (
    b"CONNECT ",
    b"other.unlisted.test:443",
    b" HTTP/1.1\r\n",
    b"\r\n\r\n",
    b"Host: ",
    b"\0",
    b"\n",
    b"\x16\x03\x01\0",
)
HOSTILE = st.one_of(
    st.binary(max_size=120),
    st.lists(st.sampled_from((GOOD, GET, FORBIDDEN, *SHREDS)), max_size=6).map(b"".join),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(HOSTILE, min_size=1, max_size=8))
def test_whatever_clients_send_nothing_forbidden_is_dialled_and_it_goes_on(said: list[bytes]) -> None:
    @looped
    async def asked() -> None:
        async with Bed() as bed:
            await asyncio.gather(*(bed.ask(each) for each in said))
            await bed.tunnel()
            assert not [each for each in bed.dials.dialled if OTHER in each or PRIVATE in each]
            assert set(bed.names.asked) == {HOST}
            assert "broken" not in bed.proxy.journal.text()

    asked()
