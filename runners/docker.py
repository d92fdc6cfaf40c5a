"""Docker, on a daemon of our own with an image of this machine's files. Source: docker-run(1)."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from runners import process
from runners.contract import (
    Channel,
    Expressible,
    Found,
    Identity,
    Inexpressible,
    Launch,
    Missing,
    Policy,
    Running,
    StartError,
)
from runners.docker_settings import flags, keywords, settings
from runners.local import Local, find, which
from runners.modes import mode_options
from runners.system import in_user_namespace

if TYPE_CHECKING:
    from runners.dockerd import Daemon

_FIX = "apt-get install docker.io; pip install 'escape-matrix[docker]'"
_BY_CLIENT = {Channel.TERMINAL, Channel.DESCRIPTORS, Channel.CALLER_ENVIRONMENT, Channel.WRAPPER_PROCESS}
_INTO_HOST = ("/host", "/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh")


class Runner(Local):
    """Three configurations, none of which has a network but open.

    strict: hardened by every flag of docker-run(1) that closes something. usual: docker run with
    the workspace. open: privileged, in the host's namespaces, on the host's own root directory.

    The API starts what needs no local process; a terminal, descriptors, the caller's environment
    and a process to kill take the command line. Root's alone: the socket is as good as root.
    """

    OPTIONS: ClassVar[Mapping[str, Any]] = mode_options()

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._daemon: Daemon | None = None
        self._failure = ""

    def find(self, identity: Identity) -> Found | Missing:
        """Daemon, command line and SDK. Whether the daemon can run shows when it is started."""
        if os.geteuid() != 0 or not identity.root:
            return Missing(f"{identity.name} may not start a Docker daemon", "run as root, without --user")
        if in_user_namespace():
            return Missing("a Docker daemon cannot run in a user namespace", "run as root")
        if importlib.util.find_spec("docker") is None:
            return Missing("the Docker SDK is not installed", _FIX)
        client = find("docker", identity, _FIX)
        return find("dockerd", identity, _FIX) if isinstance(client, Found) else client

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """Everything: mounts over the path, which the daemon sorts by depth."""
        del policy
        return Expressible()

    def start(self, launch: Launch) -> Running:
        """A fresh container. Raises StartError."""
        daemon = self._join(launch.run)
        name = f"escape-matrix-{secrets.token_hex(6)}"
        asked = settings(self.options["mode"], launch, self.options.get("without", ()))
        open_ = self.options["mode"] == "open"
        command = (
            (which("chroot"), *_INTO_HOST, str(launch.cwd), *launch.command) if open_ else launch.command
        )
        more = tuple(self.options.get("flags", ()))
        argv = (
            *(which("docker"), "--config", str(daemon.folder), "--host", daemon.host, "run", "--rm"),
            *("--interactive", *(("--tty",) if launch.terminal else ()), "--name", name),
            *(*flags(asked), *more, daemon.image, *command),
        )
        if more or launch.terminal or launch.descriptors or launch.channels & _BY_CLIENT:
            return _Client(process.start(launch, argv, launch.environment), daemon, name)
        return daemon.run(command, argv, name=name, **keywords(asked))

    def close(self) -> None:
        """Give the daemon back; the last one ends it. What a killed run left is taken away too."""
        if self._daemon:
            self._daemon.leave()
            self._daemon = None
        elif os.geteuid() == 0 and importlib.util.find_spec("docker"):
            importlib.import_module("runners.dockerd").tidy()

    def _join(self, run: Path) -> Daemon:
        if self._failure:
            raise StartError(self._failure)  # it would fail again, and take its time
        if self._daemon is None:
            from runners.dockerd import Daemon  # noqa: PLC0415 - it needs the SDK, which is optional

            try:
                self._daemon = Daemon(run)
            except StartError as error:
                self._failure = str(error)
                raise
        return self._daemon


class _Client:
    """A container behind the command line. Satisfies `Running`. Killing the client leaves it."""

    def __init__(self, client: process.Process, daemon: Daemon, name: str) -> None:
        self._client, self._daemon, self._name = client, daemon, name
        self.argv, self.pid = client.argv, client.pid
        self.output, self.errors = client.output, client.errors
        self.poll, self.kill = client.poll, client.kill

    def close(self) -> None:
        """Whatever became of the client, its container goes."""
        self._client.close()
        with contextlib.suppress(Exception):  # gone by itself, as it should
            self._daemon.client.containers.get(self._name).remove(force=True)
