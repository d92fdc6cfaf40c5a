"""bubblewrap: `bwrap`, which makes namespaces and a mount view. Source: bwrap(1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from runners.contract import Expressible, Found, Identity, Inexpressible, Launch, Missing, Policy
from runners.local import Local, find, which
from runners.masks import covered, read_only
from runners.modes import assemble, mode_options
from runners.system import view

_OWN = ("--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
_NOBODY = (("--cap-drop", "ALL"), ("--uid", "65534"), ("--gid", "65534"), ("--hostname", "sandbox"))


class Runner(Local):
    """Three configurations.

    strict: every namespace, nothing of the host but its runtime, no capability, a session of its
    own, a clean environment. usual: the README's read-only root with every namespace. open:
    `--dev-bind / /`, which keeps nothing back.
    """

    OPTIONS: ClassVar[Mapping[str, Any]] = mode_options()

    def find(self, identity: Identity) -> Found | Missing:
        """The program `bwrap`."""
        return find("bwrap", identity, "apt-get install bubblewrap")

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """Everything: mounts over the path, in order after the workspace's own."""
        del policy
        return Expressible()

    def argv(self, launch: Launch) -> tuple[str, ...]:
        """The command line."""
        match self.options["mode"]:
            case "strict":
                groups = (*_strict(launch), *_masks(launch), ("--remount-ro", "/"))
            case "usual":
                groups = (*_usual(launch), *_masks(launch))
            case _:
                groups = (("--dev-bind", "/", "/"),)
        return assemble((which("bwrap"),), groups, self.options, ("--", *launch.command))

    def environment(self, launch: Launch) -> Mapping[str, str]:
        """The caller's own where bwrap clears it and sets what is granted."""
        return launch.environment if self.options["mode"] == "strict" else super().environment(launch)


def _strict(launch: Launch) -> Iterator[tuple[str, ...]]:
    workspace = str(launch.policy.workspace)
    yield ("--unshare-all",)
    yield from ((flag,) for flag in _OWN)
    yield from _NOBODY
    yield ("--clearenv",)
    for name, value in launch.policy.environment.items():
        yield ("--setenv", name, value)
    shown = view()
    for path in shown.shown:
        yield ("--ro-bind", path, path)
    for target, name in shown.links:
        yield ("--symlink", target, name)
    yield ("--proc", "/proc")
    yield ("--dev", "/dev")
    yield ("--tmpfs", "/tmp")  # noqa: S108 - a private one, inside
    for path in map(str, launch.policy.shown):
        yield ("--ro-bind", path, path)
    yield ("--bind", workspace, workspace)
    yield ("--chdir", workspace)


def _usual(launch: Launch) -> Iterator[tuple[str, ...]]:
    workspace = str(launch.policy.workspace)
    yield ("--ro-bind", "/", "/")
    yield ("--dev", "/dev")
    yield ("--proc", "/proc")
    yield ("--bind", workspace, workspace)
    yield ("--unshare-all",)


def _masks(launch: Launch) -> Iterator[tuple[str, ...]]:
    for source, path in read_only(launch):
        yield ("--ro-bind", str(source), str(path))
    for source, path in covered(launch):
        if source:
            yield ("--ro-bind", str(source), str(path))
        else:
            yield ("--tmpfs", str(path))
            yield ("--remount-ro", str(path))
