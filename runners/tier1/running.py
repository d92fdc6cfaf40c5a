"""A started sandbox, and one with a proxy: what the harness holds of it."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from runners.contract import Denial, Egress, Exit, Policy, Proposal
from runners.process import Process
from runners.tier1.serving import Serving


class Sandboxed:
    """A started sandbox without a network. Satisfies `Running`."""

    def __init__(self, process: Process, argv: Sequence[str], placeholders: Placeholders) -> None:
        self.argv = tuple(argv)
        self.output, self.errors = process.output, process.errors
        self._process = process
        self._placeholders = placeholders

    @property
    def pid(self) -> int:
        """The launcher's process id."""
        return self._process.pid

    def poll(self) -> Exit | None:
        """How the launcher ended, None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """SIGKILL to the launcher alone; bwrap dies with it, and the command with bwrap."""
        self._process.kill()

    def close(self) -> None:
        """Give back the descriptors; empty names that stood for what was missing go."""
        self._process.close()
        self._placeholders.remove()


class Proxied(Sandboxed):
    """A started sandbox whose only way out is the egress proxy. Satisfies `contract.Proxied`."""

    def __init__(
        self, process: Process, argv: Sequence[str], placeholders: Placeholders, serving: Serving
    ) -> None:
        super().__init__(process, argv, placeholders)
        self._serving = serving

    def renew(self, egress: Egress) -> None:
        """From now on these lists, and nothing of before counts. Raises StartError."""
        self._serving.renew(egress)

    def change(self, egress: Egress) -> tuple[str, ...]:
        """Change the lists in force; gives why it was refused, whole."""
        return self._serving.change(egress)

    def denials(self) -> Sequence[Denial]:
        """The records, oldest first."""
        return self._serving.denials()

    def proposals(self) -> Sequence[Proposal]:
        """What would allow what was refused."""
        return self._serving.proposals()

    def dials(self) -> Sequence[str]:
        """The addresses dialled."""
        return self._serving.dials()

    def log(self) -> str:
        """The node's log."""
        return self._serving.log()

    @property
    def neighbour(self) -> str:
        """The URL of the neighbour's proxy."""
        return self._serving.neighbour

    def close(self) -> None:
        """The proxy ends too."""
        self._serving.close()
        super().close()


class Placeholders:
    """The names that the launcher creates in a workspace, as a mount needs something to stand on."""

    def __init__(self, policy: Policy) -> None:
        self.workspace = policy.workspace
        guarded = {
            step
            for path in (*policy.protected, *policy.hidden)
            if path.is_relative_to(policy.workspace)
            for step in (path, *path.relative_to(policy.workspace).parents)
        }
        steps = {self.workspace / step for step in guarded}
        self.missing = sorted((step for step in steps if not os.path.lexists(step)), reverse=True)

    def remove(self) -> None:
        """Take away those that are still empty, without following a link to anywhere."""
        for path in self.missing:
            with contextlib.suppress(OSError):  # gone, or something was put there, or it is in use
                _remove_empty(self.workspace, path)


def _remove_empty(workspace: Path, path: Path) -> None:
    """Remove an empty file or directory below the workspace. Raises OSError."""
    at = os.open(workspace, os.O_PATH | os.O_DIRECTORY)
    try:
        *folders, last = path.relative_to(workspace).parts
        for name in folders:
            inner = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        status = os.stat(last, dir_fd=at, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            os.rmdir(last, dir_fd=at)
        elif stat.S_ISREG(status.st_mode) and status.st_size == 0:
            os.unlink(last, dir_fd=at)
    finally:
        os.close(at)
