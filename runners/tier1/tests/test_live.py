"""The lists change while calls are open, and at once."""

from __future__ import annotations

import asyncio
import select

from runners.contract import Egress
from runners.tier1.tests.bed import GET, GOOD, HOST, PRIVATE, PUBLIC, WIKI, Bed, looped, until


@looped
async def test_the_next_call_is_judged_by_the_new_lists() -> None:
    async with Bed((WIKI,)) as bed:
        wiki = GOOD.replace(HOST.encode(), WIKI.encode())
        assert b"403" in await bed.ask(wiki)
        assert bed.proxy.change(Egress(manifest=(WIKI,), tenant=(WIKI,))) == ()
        assert b"200" in await bed.ask(wiki)
        assert bed.proxy.change(Egress(manifest=(WIKI,))) == ()
        assert b"403" in await bed.ask(wiki)
        assert bed.dials.dialled == [f"{PRIVATE}:443"]


@looped
async def test_an_open_tunnel_is_cut_and_that_is_on_record() -> None:
    async with Bed((HOST,), (WIKI,)) as bed:
        gone, stays = await bed.tunnel(WIKI), await bed.tunnel()
        assert await (await gone.say(b"x")).exactly(1) == b"x"
        assert bed.proxy.change(Egress(manifest=(HOST, WIKI))) == ()
        await gone.say(b"late")
        assert await gone.rest() == b""
        assert bytes(bed.arrived[0]) == b"x"
        (denial,) = bed.proxy.journal.denials
        assert (denial.kind, denial.host, denial.address) == ("private", WIKI, PRIVATE)
        assert await (await stays.say(b"y")).exactly(1) == b"y"


@looped
async def test_what_the_kernel_still_holds_for_a_server_is_dropped_with_its_entry() -> None:
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    cut = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await cut.wait()
        try:
            while await reader.read(1 << 16):
                pass
            ended.set_result("all of it came")
        except ConnectionResetError:
            ended.set_result("dropped")
        writer.close()

    async with Bed(servers={443: slow}) as bed:
        client = await bed.tunnel()
        client.writer.write(bytes(1 << 24))  # more than there is room for on the way
        (visit,) = bed.proxy._visits
        await until(lambda: visit.upstream and not select.select([], [visit.upstream], [], 0)[1])
        assert bed.proxy.change(Egress()) == ()
        cut.set()
        assert await ended == "dropped"


@looped
async def test_a_silent_connection_is_cut_and_its_next_request_reaches_nobody() -> None:
    async with Bed() as bed:
        client = await (await bed.client()).say(GET)
        await client.head()
        await client.exactly(7)
        assert bed.proxy.change(Egress(tenant=("x.test",))) == ()
        await client.say(GET)
        assert await client.rest() == b""
        assert bed.dials.dialled == [f"{PUBLIC}:80"]
        assert bed.kinds() == ["unlisted"]


@looped
async def test_a_call_whose_name_is_being_asked_for_is_judged_by_the_new_lists() -> None:
    async with Bed() as bed:
        bed.names.gate.clear()
        client = await (await bed.client()).say(GOOD)
        await until(lambda: bed.names.asked)
        bed.proxy.change(Egress())
        bed.names.gate.set()
        assert b"403 Forbidden: unlisted" in await client.rest()
        assert bed.dials.dialled == []


@looped
async def test_a_call_that_is_being_dialled_is_cut() -> None:
    async with Bed() as bed:
        bed.dials.silent = {PUBLIC}
        client = await (await bed.client()).say(GOOD)
        await until(lambda: bed.dials.dialled)
        bed.names.table[HOST] = (PUBLIC,)
        bed.proxy.change(Egress())
        assert await client.rest() == b""
        assert bed.kinds() == ["unlisted"]


@looped
async def test_a_bad_change_is_refused_whole() -> None:
    async with Bed() as bed:
        client = await bed.tunnel()
        faults = bed.proxy.change(Egress(manifest=(), tenant=("*", "x.test")))
        assert len(faults) == 1
        assert "'*'" in faults[0]
        assert await (await client.say(b"y")).exactly(1) == b"y"
        assert b"200" in await bed.ask(GOOD)
        assert "change refused" in bed.proxy.journal.text()


@looped
async def test_renewed_it_knows_nothing_of_before() -> None:
    async with Bed() as bed:
        tunnel, idle = await bed.tunnel(), await bed.client()
        await bed.ask(GOOD.replace(HOST.encode(), b"x.test"))
        bed.names.gate.clear()
        waiting = await (await bed.client()).say(GOOD)
        await until(lambda: len(bed.names.asked) == 2)
        bed.proxy.renew(Egress(manifest=("x.test",)))
        bed.names.gate.set()
        for client in (tunnel, idle, waiting):
            assert await client.rest() == b""
        bed.proxy.change(Egress())
        assert (bed.kinds(), bed.proxy.journal.dials, bed.proxy.proposals) == ([], (), ())
        assert HOST not in bed.proxy.journal.text()
        assert b"403" in await bed.ask(GOOD)


@looped
async def test_calls_during_many_changes_are_allowed_or_refused_and_nothing_else() -> None:
    listed, without = Egress(manifest=(WIKI,), tenant=(WIKI,)), Egress(manifest=(WIKI,))
    wiki = GOOD.replace(HOST.encode(), WIKI.encode())
    async with Bed((WIKI,)) as bed:
        calls = [asyncio.create_task(bed.ask(wiki)) for _ in range(50)]
        for turn in range(40):
            bed.proxy.change(listed if turn % 2 else without)
            before = len(bed.dials.dialled)
            await asyncio.sleep(0)
            assert turn % 2 or len(bed.dials.dialled) == before, "dialled although it was not on the list"
        for answer in await asyncio.gather(*calls):
            assert answer == b"" or answer.split()[1] in (b"200", b"403")


@looped
async def test_no_refusal_is_remembered() -> None:
    async with Bed(()) as bed:
        for manifest, status in (((), b"403"), ((HOST,), b"200"), ((), b"403"), ((HOST,), b"200")):
            bed.proxy.change(Egress(manifest=manifest))
            assert status in await bed.ask(GOOD)
        assert len(bed.kinds()) in (2, 3, 4)  # and one for each open call that was cut
