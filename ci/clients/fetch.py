"""The Python clients of the matrix: what each library does by itself with the environment that it finds.

    python3 fetch.py LIBRARY URL TOKEN

Prints `ran LIBRARY VERSION`, then the answer or the library's error. Exit code 0 for an answer below
400, 9 for another and for an error of the library's own, 8 where the library is not here.
"""

from __future__ import annotations

import asyncio
import http.client
import ipaddress
import platform
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any, NoReturn

LIMIT = 4  # seconds
REFUSED, MISSING = 9, 8

Client = Callable[[str, dict[str, str]], NoReturn]


def ran(name: str, version: str) -> None:
    """Say which client this is, before it asks anything."""
    print("ran", name, version, flush=True)


def answered(status: int, *said: object) -> NoReturn:
    """Print an answer and end."""
    if status >= 400:  # noqa: PLR2004 - the first status of errors
        print("failed:", status, *said)
        sys.exit(REFUSED)
    print(status, *said)
    sys.exit()


def failed(error: BaseException | None) -> NoReturn:
    """Print the library's error with its causes and end."""
    while error:
        print("failed:", type(error).__name__, error)
        error = error.__cause__ or error.__context__
    sys.exit(REFUSED)


def with_urllib(url: str, headers: dict[str, str], *handlers: urllib.request.BaseHandler) -> NoReturn:
    """The standard library's."""
    ran("urllib", platform.python_version())
    asked = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.build_opener(*handlers).open(asked, timeout=LIMIT) as answer:
            answered(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        answered(error.code, error.reason, error.headers, error.read().decode())
    except (OSError, http.client.HTTPException) as error:
        failed(error)


def with_preresolve(url: str, headers: dict[str, str]) -> NoReturn:
    """One that looks the name up before it uses the proxy."""
    lookup(url)
    with_urllib(url, headers)


def with_ssrf_guard(url: str, headers: dict[str, str]) -> NoReturn:
    """One whose guard dials no private address, the proxy's neither: it looks up, judges and dials itself."""
    proxy = urllib.parse.urlsplit(urllib.request.getproxies().get("https", "")).hostname or "localhost"
    public = all(ipaddress.ip_address(place[4][0]).is_global for place in lookup(url))
    if not public:
        sys.exit("the guard refuses the host itself")
    guarded = proxy == "localhost" or ipaddress.ip_address(proxy).is_private
    with_urllib(url, headers, *([urllib.request.ProxyHandler({})] if guarded else []))


def lookup(url: str) -> list[Any]:
    """What the name resolves to, here."""
    try:
        return socket.getaddrinfo(urllib.parse.urlsplit(url).hostname, 443, type=socket.SOCK_STREAM)
    except OSError as error:
        ran("getaddrinfo", platform.python_version())
        failed(error)


def with_requests(url: str, headers: dict[str, str]) -> NoReturn:
    """Reads the variables unless told not to; follows redirects."""
    import requests

    ran("requests", requests.__version__)
    try:
        answer = requests.get(url, headers=headers, timeout=LIMIT)
    except requests.RequestException as error:
        failed(error)
    answered(answer.status_code, answer.reason, answer.headers, answer.text)


def with_httpx(url: str, headers: dict[str, str]) -> NoReturn:
    """Reads the variables unless told not to."""
    import httpx

    ran("httpx", httpx.__version__)
    try:
        answer = httpx.get(url, headers=headers, timeout=LIMIT)
    except httpx.HTTPError as error:
        failed(error)
    answered(answer.status_code, answer.reason_phrase, answer.headers, answer.text)


def with_aiohttp(url: str, headers: dict[str, str], *, trust_env: bool = False) -> NoReturn:
    """Reads no variable unless told to."""
    import aiohttp

    ran("aiohttp", aiohttp.__version__)

    async def ask() -> tuple[Any, ...]:
        limit = aiohttp.ClientTimeout(total=LIMIT)
        session = aiohttp.ClientSession(trust_env=trust_env, timeout=limit)
        async with session, session.get(url, headers=headers) as answer:
            return answer.status, answer.reason, answer.headers, await answer.text()

    try:
        said = asyncio.run(ask())
    except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
        failed(error)
    answered(*said)


def with_aiohttp_trust_env(url: str, headers: dict[str, str]) -> NoReturn:
    """The same, told to."""
    with_aiohttp(url, headers, trust_env=True)


def with_websockets(url: str, headers: dict[str, str]) -> NoReturn:
    """A web socket: one message is read."""
    import websockets.exceptions
    import websockets.sync.client
    import websockets.version

    ran("websockets", websockets.version.version)
    try:
        with websockets.sync.client.connect(url, additional_headers=headers, open_timeout=LIMIT) as opened:
            said = opened.recv(timeout=LIMIT)
    except (websockets.exceptions.WebSocketException, OSError) as error:
        failed(error)
    answered(101, said)


def main() -> None:
    """Be the client that the first argument names."""
    client: Client = globals()["with_" + sys.argv[1].replace("-", "_")]
    try:
        client(sys.argv[2], {"X-Marker": sys.argv[3]})
    except ImportError as error:
        print("missing:", error)
        sys.exit(MISSING)


if __name__ == "__main__":
    main()
