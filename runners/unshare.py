"""util-linux's `unshare`, which every Linux has, with `setpriv` and a mount script. Source: unshare(1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from runners.contract import Expressible, Found, Identity, Inexpressible, Launch, Missing, Policy
from runners.local import Local, find, which
from runners.masks import covered, existing
from runners.modes import assemble, mode_options
from runners.system import view

SCRIPT = Path(__file__).with_suffix(".sh")
_FIX = "apt-get install util-linux mount"
_USER = (("--user",), ("--map-root-user",))
_STRICT = ("--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child")
_USUAL = ("--net", "--pid", "--fork", "--mount-proc")
_NO_CAPABILITIES = ("--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all")


class Runner(Local):
    """Three configurations.

    strict: every namespace and the view of unshare.sh, no capability, a session of its own, a
    clean environment. usual: a new user, network and process namespace. open: `unshare` without a flag.
    """

    OPTIONS: ClassVar[Mapping[str, Any]] = mode_options()

    def find(self, identity: Identity) -> Found | Missing:
        """unshare, and for the strict configuration setpriv beside it."""
        found = find("unshare", identity, _FIX)
        if isinstance(found, Found) and self.options["mode"] == "strict":
            for tool in ("setpriv", "setsid", "mount", "pivot_root"):
                if not Path(which(tool)).is_absolute():
                    return Missing(f"{tool} is not installed", _FIX)
        return found

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """The strict script mounts over single paths; unshare itself has no word for them."""
        match self.options["mode"]:
            case "strict":
                linked = [path.name for path in (*policy.hidden, *policy.protected) if path.is_symlink()]
                if linked:
                    return Inexpressible(f"{linked[0]} is a link: mount(8) would cover what it points to")
                return existing(policy)
            case "open":
                return Expressible()
            case _:
                return super().express(policy)

    def argv(self, launch: Launch) -> tuple[str, ...]:
        """The command line. The script travels as text, as the account may not reach this folder."""
        match self.options["mode"]:
            case "strict":
                groups = (*_USER, *((flag,) for flag in _STRICT), ("--propagation", "private"))
                inside = (
                    "--",
                    "/bin/sh",
                    "-c",
                    SCRIPT.read_text(),
                    "sh",
                    *_orders(launch),
                    "--",
                    *_become(launch),
                )
            case "usual":
                groups, inside = (*_USER, *((flag,) for flag in _USUAL)), ("--",)
            case _:
                groups, inside = (), ("--",)
        return assemble((which("unshare"),), groups, self.options, (*inside, *launch.command))

    def environment(self, launch: Launch) -> Mapping[str, str]:
        """The caller's own where the command gets a fresh one."""
        return launch.environment if self.options["mode"] == "strict" else super().environment(launch)


def _orders(launch: Launch) -> Iterator[str]:
    """What unshare.sh is told, one word after another."""
    yield str(launch.policy.workspace)
    shown = view()
    for path in shown.shown:
        yield from ("show", path)
    for target, name in shown.links:
        yield from ("link", target, name)
    for path in launch.policy.shown:
        yield from ("show", str(path))
    for path in launch.policy.protected:
        yield from ("protect", str(path))
    for source, path in covered(launch):
        yield from ("hide-file", str(path), str(source)) if source else ("hide-dir", str(path))


def _become(launch: Launch) -> Iterator[str]:
    """From the script's rights to none: no terminal, no capability, and only what is granted."""
    yield from ("setsid", "setpriv", *_NO_CAPABILITIES, "--", "env", "-i")
    for name, value in launch.policy.environment.items():
        yield f"{name}={value}"
