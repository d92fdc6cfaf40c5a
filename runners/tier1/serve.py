"""The process that the egress proxies of one command and its neighbour run in.

python -m runners.tier1.serve FD: FD is a socket on which a runner asks (`serving.Serving`), one JSON object a
line, and is answered in order. The process ends when the other end of it closes, and so with its runner.
"""

from __future__ import annotations

import array
import asyncio
import json
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any

from runners.contract import Egress
from runners.tier1 import wire
from runners.tier1.addresses import Address
from runners.tier1.proxy import Proxy

MakeProxy = Callable[[Egress, frozenset[Address]], Proxy]
_CHUNK = 1 << 16
_DESCRIPTORS = 4  # in one message at most


class Service:
    """A command's proxy and its neighbour's, which know nothing of each other."""

    def __init__(self, make: MakeProxy = Proxy) -> None:
        self._make = make
        self._own: frozenset[Address] = frozenset()
        self._tasks: list[asyncio.Task[None]] = []
        self._proxy: Proxy | None = None
        self._neighbour: Proxy | None = None
        self._beside: socket.socket | None = None  # where the neighbour's listens

    def answer(self, asked: Mapping[str, Any], descriptors: list[int]) -> Any:
        """The answer to one question. Raises ValueError for one that cannot be answered."""
        match asked:
            case {"do": "start", "egress": egress, "own": own}:
                self._own = frozenset(ip_address(each) for each in own)
                return self._start(wire.egress(egress), descriptors)
            case {"do": "renew", "egress": egress}:
                return self._renew(wire.egress(egress))
            case {"do": "change", "egress": egress}:
                return self._change(wire.egress(egress))
            case {"do": "denials"}:
                return [wire.plain(each) for each in self._main.journal.denials]
            case {"do": "proposals"}:
                return [wire.plain(each) for each in self._main.proposals]
            case {"do": "dials"}:
                return self._main.journal.dials
            case {"do": "log"}:
                return self._main.journal.text()
            case _:
                raise ValueError(f"no such question: {asked.get('do')!r}")

    async def close(self) -> None:
        """Cut everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._beside:
            self._beside.close()

    @property
    def _main(self) -> Proxy:
        if self._proxy is None:
            raise ValueError("the proxy has not been started")
        return self._proxy

    def _start(self, egress: Egress, descriptors: list[int]) -> str:
        if self._proxy is not None or len(descriptors) != 1:
            raise ValueError("a proxy is started once, with one listening socket or where it will come from")
        self._proxy = self._make(egress, self._own)
        self._tasks.append(asyncio.create_task(_serve(self._proxy, socket.socket(fileno=descriptors[0]))))
        return self._settle(egress)

    def _renew(self, egress: Egress) -> str:
        self._main.renew(egress)
        if self._neighbour:
            self._neighbour.renew(egress.neighbour or Egress())
        return self._settle(egress)

    def _change(self, egress: Egress) -> list[str]:
        """Whole: what is wrong with the neighbour's lists refuses the change too."""
        beside = egress.neighbour or Egress()
        if self._neighbour and isinstance(faults := self._neighbour.lists.change(beside), tuple):
            return [str(fault) for fault in faults]
        if faults := self._main.change(egress):
            return list(faults)
        if self._neighbour:
            self._neighbour.change(beside)
        self._settle(egress)
        return []

    def _settle(self, egress: Egress) -> str:
        """See that a neighbour is served where there is one; its proxy's URL."""
        if egress.neighbour is None:
            return ""
        if self._beside is None or self._neighbour is None:
            self._beside = socket.create_server(("127.0.0.1", 0))
            self._neighbour = self._make(egress.neighbour, self._own)
            self._tasks.append(asyncio.create_task(self._neighbour.serve(self._beside)))
        return f"http://127.0.0.1:{self._beside.getsockname()[1]}"


async def _serve(proxy: Proxy, given: socket.socket) -> None:
    """Serve the listening socket that was given, or the one that arrives on it from the sandbox."""
    listener = given
    try:
        if given.family == socket.AF_UNIX:
            given.setblocking(False)
            _, descriptors = await _receive(given)
            if not descriptors:
                return  # the sandbox never came so far
            listener = socket.socket(fileno=descriptors[0])
        await proxy.serve(listener)
    finally:
        listener.close()
        given.close()


async def _receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """What comes next, with the descriptors that came along."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(sock, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(sock)
    data, descriptors, _, _ = socket.recv_fds(sock, _CHUNK, _DESCRIPTORS)
    return data, list(descriptors)


async def run(control: socket.socket, make: MakeProxy = Proxy) -> None:
    """Answer what is asked, until nobody can ask any more."""
    control.setblocking(False)
    loop, service = asyncio.get_running_loop(), Service(make)
    unread, came = b"", array.array("i")
    try:
        while True:
            data, descriptors = await _receive(control)
            if not data:
                return
            unread += data
            came.extend(descriptors)
            *lines, unread = unread.split(b"\n")
            for line in lines:
                try:
                    answer = {"ok": service.answer(json.loads(line), [came.pop() for _ in range(len(came))])}
                except (KeyError, OSError, TypeError, ValueError) as error:
                    answer = {"error": f"{type(error).__name__}: {error}"}
                await loop.sock_sendall(control, json.dumps(answer).encode() + b"\n")
    finally:
        await service.close()


def main(arguments: list[str], make: MakeProxy = Proxy) -> int:
    """Serve until the control socket closes."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # whoever interrupts a run ends the runner, and that ends this
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with socket.socket(fileno=int(arguments[0])) as control:
        asyncio.run(run(control, make))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
