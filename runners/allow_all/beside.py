"""A command with the proxy that allows everything beside it: what a control of proxied rows starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from runners.allow_all.dialling import Dialler
from runners.allow_all.proxy import Proxy
from runners.contract import Channel, Denial, Egress, Exit, Launch, Proposal, Running, StartError

CHANNELS = frozenset({Channel.PROXY, Channel.DIAL_LOG, Channel.DECISIONS})
"""What a runner carries that starts its commands so."""


class Beside:
    """The started command and its proxy. Satisfies `Proxied`."""

    def __init__(
        self, running: Running, dialler: Dialler, lines: list[str], neighbour: str, ends: ExitStack
    ) -> None:
        self._running, self._dialler, self._lines, self._ends = running, dialler, lines, ends
        self.neighbour = neighbour

    @property
    def argv(self) -> tuple[str, ...]:
        """Of the command's launcher."""
        return self._running.argv

    @property
    def pid(self) -> int:
        """Of the command's launcher."""
        return self._running.pid

    @property
    def output(self) -> int:
        """Of the command."""
        return self._running.output

    @property
    def errors(self) -> int:
        """Of the command's launcher."""
        return self._running.errors

    def poll(self) -> Exit | None:
        """How the launcher ended."""
        return self._running.poll()

    def kill(self) -> None:
        """End the launcher; the proxy stays until `close`."""
        self._running.kill()

    def close(self) -> None:
        """End the proxy too."""
        with self._ends:
            self._running.close()

    def renew(self, egress: Egress) -> None:
        """Another network to dial in; the lists are not looked at."""
        self._dialler.renew(egress)
        self._lines.clear()

    def change(self, egress: Egress) -> tuple[str, ...]:
        """Every change is taken."""
        self._dialler.egress = egress
        return ()

    def denials(self) -> Sequence[Denial]:
        """Nothing is refused."""
        return ()

    def proposals(self) -> Sequence[Proposal]:
        """Nothing has to be."""
        return ()

    def dials(self) -> Sequence[str]:
        """Every address that was dialled since `renew`."""
        return self._dialler.dials()

    def log(self) -> str:
        """A line for each call since `renew`."""
        return "\n".join(self._lines)


def start(launch: Launch, start_command: Callable[[Launch], Running]) -> Running:
    """Start the command with the proxy's variables in its environment. Raises StartError.

    Without an egress policy there is no proxy, and the command is started as it is.
    """
    if launch.policy.egress is None:
        return start_command(launch)
    dialler, lines = Dialler(launch.policy.egress), list[str]()
    with ExitStack() as ends:
        try:
            proxies = [Proxy(dialler, lines.append) for _ in range(2)]
        except OSError as error:
            raise StartError(f"the proxy of the control cannot listen: {error}") from error
        for proxy in proxies:
            ends.callback(proxy.close)
        granted = {**launch.policy.environment, **variables(proxies[0].url)}
        running = start_command(replace(launch, policy=replace(launch.policy, environment=granted)))
        return Beside(running, dialler, lines, proxies[1].url, ends.pop_all())


def variables(url: str) -> Mapping[str, str]:
    """What a command is told of its proxy, in every way that a client may look for."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    return {**dict.fromkeys(names, url), "NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}
