"""How an argv becomes a running launcher: one local process with everything about it decided here."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import termios
from collections.abc import Mapping, Sequence

from runners.contract import Exit, Identity, Launch, StartError


class Process:
    """A started launcher. Satisfies `Running`.

    Its standard output is always the report's pipe. Standard input is empty and standard error a
    pipe, or both are the launch's terminal; then `errors` is -1.
    """

    def __init__(self, argv: Sequence[str], popen: subprocess.Popen[bytes], output: int, errors: int) -> None:
        self.argv = tuple(argv)
        self.output = output
        self.errors = errors
        self._popen = popen

    @property
    def pid(self) -> int:
        """The launcher's process id."""
        return self._popen.pid

    def poll(self) -> Exit | None:
        """How it ended; a launcher that a signal ended is told apart from one that says 128+n."""
        code = self._popen.poll()
        if code is None:
            return None
        return Exit(code=code) if code >= 0 else Exit(signal=-code)

    def kill(self) -> None:
        """SIGKILL to the launcher alone: what dies with it is for the sandbox to show."""
        if self._popen.poll() is None:
            os.kill(self._popen.pid, signal.SIGKILL)

    def close(self) -> None:
        """Give back the descriptors."""
        for descriptor in {self.output, self.errors} - {-1}:
            os.close(descriptor)


def start(launch: Launch, argv: Sequence[str], environment: Mapping[str, str]) -> Process:
    """Start the launcher in a session of its own, as the launch's account, with exactly this environment.

    Raises StartError, with what the system said, when nothing could be executed.
    """
    account = _change(launch.identity)
    opened: list[int] = []
    try:
        output, writer = os.pipe()
        opened += [output, writer]
        errors, complaints = (-1, -1) if launch.terminal else os.pipe()
        opened += [] if launch.terminal else [errors, complaints]
        stdin = _stdin(launch)
        opened.append(stdin)
        popen = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=writer,
            stderr=stdin if launch.terminal else complaints,
            cwd=launch.cwd,
            env=dict(environment),
            pass_fds=launch.descriptors,
            start_new_session=True,
            preexec_fn=_take_terminal if launch.terminal else None,  # noqa: PLW1509 - one ioctl
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=account.groups if account else None,
        )
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        for descriptor in opened:
            os.close(descriptor)
        raise StartError(f"cannot execute {argv[0]}: {error}") from error
    for descriptor in set(opened) - {output, errors}:
        os.close(descriptor)
    return Process(argv, popen, output, errors)


def _stdin(launch: Launch) -> int:
    """Nothing to read, or the terminal, which becomes the account's own as at a login."""
    if launch.terminal is None:
        return os.open(os.devnull, os.O_RDONLY)
    terminal = os.open(launch.terminal, os.O_RDWR | os.O_NOCTTY)
    if os.geteuid() == 0:
        os.fchown(terminal, launch.identity.uid, launch.identity.gid)
    return terminal


def _take_terminal() -> None:
    """In the child, already the leader of a new session: standard input controls it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _change(identity: Identity) -> Identity | None:
    """The account to become, None where this process already is it. Only root can become another."""
    if identity.uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        raise StartError(
            f"only root can start a launcher as {identity.name}: run as root, or as {identity.name}"
        )
    return identity
