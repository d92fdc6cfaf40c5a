"""What bench_proxy.py measures, and the network around it: names, servers, tier1's proxy and squid."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from runners.contract import Egress
from runners.tier1.serving import Serving

HOST, ADDRESS = "api.allowed.test", "11.22.33.44"
HELD, SOURCE = 443, 8443  # ports: one that waits for the client's end, one that sends without end
BUFFER = 1 << 18
SQUID = """
http_port 127.0.0.1:3129
dns_nameservers 127.0.0.1
hosts_file none
acl allowed dstdomain {host}
acl ports port {held} {source}
http_access allow CONNECT allowed ports
http_access deny all
cache deny all
cache_mem 0 MB
pid_filename none
access_log none
cache_log /dev/null
coredump_dir none
netdb_filename none
logfile_rotate 0
pinger_enable off
visible_hostname proxy
shutdown_lifetime 0 seconds
"""


@dataclass(frozen=True)
class Subject:
    """A proxy that is measured."""

    name: str
    at: tuple[str, int]
    pid: int

    def memory(self) -> float:
        """Resident MiB."""
        return psutil.Process(self.pid).memory_info().rss / (1 << 20)

    def open_below(self, count: int) -> None:
        """Raises OSError while it has as many connections or more."""
        now = len(psutil.Process(self.pid).net_connections())
        if now >= count:
            raise OSError(f"{self.name} has {now} connections open")

    def connect(self, host: str, port: int) -> socket.socket:
        """A tunnel. Raises OSError where it is refused."""
        sock = socket.create_connection(self.at, timeout=10)
        sock.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            more = sock.recv(4096)
            if not more:
                break
            head += more
        if not head.startswith(b"HTTP/1.1 200"):
            sock.close()
            raise ConnectionRefusedError(head[:100])
        return sock


@contextmanager
def tier1() -> Iterator[Subject]:
    """The proxy of this repository, in its own process."""
    listener = socket.create_server(("127.0.0.1", 3128), backlog=1024)
    at = listener.getsockname()
    serving = Serving.start(Egress(manifest=(f"{HOST}:{HELD}", f"{HOST}:{SOURCE}")), listener)
    try:
        yield Subject("tier1", at, serving.pid)
    finally:
        serving.close()


@contextmanager
def squid() -> Iterator[Subject | None]:
    """Squid with the same list, where it is installed and can be started."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # noqa: S103, PTH101 - squid reads it as an account of its own
        config = Path(folder, "squid.conf")
        config.write_text(SQUID.format(host=HOST, held=HELD, source=SOURCE))
        try:
            process = subprocess.Popen(
                ["/usr/sbin/squid", "-N", "-n", f"bench{os.getpid()}", "-f", str(config)],
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            print(f"squid: {error}")
            yield None
            return
        try:
            until(lambda: socket.create_connection(("127.0.0.1", 3129)).close())
            yield Subject("squid", ("127.0.0.1", 3129), process.pid)
        finally:
            process.terminate()
            process.wait()


@contextmanager
def running(part: Callable[[], None]) -> Iterator[None]:
    """A part of the network, in a process of its own."""
    process = multiprocessing.get_context("fork").Process(target=part, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()  # a world's processes take a softer word for an interruption, and say so
        process.join()


def until(works: Callable[[], object], seconds: float = 10) -> None:
    """Wait until this raises no OSError any more. Raises the last."""
    end = time.monotonic() + seconds
    while True:
        try:
            works()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def names() -> None:
    """A DNS server that knows one address and takes no time."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 53))
        while True:
            query, client = sock.recvfrom(512)
            end = query.index(0, 12) + 5
            four = query[end - 3] == 1  # type A
            head = query[:2] + b"\x81\x80\0\1" + bytes([0, four]) + b"\0\0\0\0"
            record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(ADDRESS)
            sock.sendto(head + query[12:end] + (record if four else b""), client)


def held() -> None:
    """A server that waits for the end of each connection."""

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def serve() -> None:
        async with await asyncio.start_server(hold, ADDRESS, HELD, backlog=1024) as server:
            await server.serve_forever()

    asyncio.run(serve())


def source() -> None:
    """A server that sends without end."""
    data = bytes(BUFFER)
    with socket.create_server((ADDRESS, SOURCE)) as listener:
        while True:
            sock, _ = listener.accept()
            try:
                while True:
                    sock.sendall(data)
            except OSError:
                sock.close()
