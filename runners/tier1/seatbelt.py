"""The same policy as a profile for macOS's `sandbox-exec -p`: text, and nothing more.

**No Mac has shown that it holds.** It is checked for its form and for openings that are known by name; what
a rule does is for a Mac to say, and the rows have to be run there first. Until then tier 1 is Linux.

What is known of the language: a path is matched as the kernel spells it, /private/tmp and not /tmp; a rename
is an unlink of the old name, so directories above a guarded path are kept from it; a local address in an
outbound rule would allow every destination. There is no network namespace, no private /tmp and no process
namespace: the proxy listens on the host's loopback, at one port that is allowed, and whoever else listens at
that port is reached. Sources: sandbox-exec(1), anthropic-experimental/sandbox-runtime#8 and #131,
openai/codex#45119, nubjs/nub#449 (a hard link that is there before the start leads past a rule by path).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runners.contract import Policy

MOST = 1024  # bytes of one string; a longer one is not read
_MOVED = ("/tmp", "/var", "/etc")  # noqa: S108 - links to the same below /private

_HEAD = """\
; Tier 1 for macOS, as text. No Mac has shown that this profile holds.
(version 1)
(deny default)

; programs start: the loader, the shared cache, what every process asks of the kernel
(allow process-fork)
(allow process-exec (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System/Library"))
(allow file-read* (literal "/") (subpath "/usr") (subpath "/bin") (subpath "/sbin")
    (subpath "/System/Library") (subpath "/System/Cryptexes") (subpath "/System/Volumes/Preboot/Cryptexes")
    (subpath "/Library/Apple") (subpath "/private/etc/ssl") (subpath "/private/var/db/timezone")
    (subpath "/private/var/db/dyld"))
(allow sysctl-read (sysctl-name "hw.activecpu" "hw.byteorder" "hw.cachelinesize" "hw.logicalcpu"
    "hw.machine" "hw.memsize" "hw.ncpu" "hw.pagesize" "hw.pagesize_compat" "hw.physicalcpu" "kern.argmax"
    "kern.hostname" "kern.maxfilesperproc" "kern.osproductversion" "kern.osrelease" "kern.ostype"
    "kern.osversion" "kern.version"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero"))
(allow file-read* (literal "/dev/random") (literal "/dev/urandom"))

; itself and its children, nobody else: no key of a terminal, no name service, no launching by others
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
"""


def profile(policy: Policy, port: int) -> str:
    """The profile's text, for a proxy at that port of loopback. ValueError for a path it cannot say."""
    return "\n".join([_HEAD, *_paths(policy), *_network(policy, port), ""])


def _paths(policy: Policy) -> Iterator[str]:
    workspace = policy.workspace
    yield "; the workspace"
    yield f"(allow file-read* file-write* process-exec (subpath {quoted(workspace)}))"
    yield f"(deny file-write-setugid (subpath {quoted(workspace)}))"
    for path in policy.shown:
        yield f"(allow file-read* process-exec (subpath {quoted(path)}))"
    if guarded := (*policy.protected, *policy.hidden):
        yield "; what is guarded in it, and the directories above, which must not be moved"
        for path in _above(workspace, guarded):
            yield f"(deny file-write-unlink (literal {quoted(path)}))"
    for path in policy.protected:
        yield f"(deny file-write* (subpath {quoted(path)}))"
    for path in policy.hidden:
        yield f"(deny file-read* file-write* process-exec (subpath {quoted(path)}))"
    yield ""


def _network(policy: Policy, port: int) -> Iterator[str]:
    if policy.egress is None:
        yield "; no network"
        return
    yield "; one port of loopback: the proxy, which resolves names"
    yield "(allow system-socket (socket-domain AF_INET))"
    yield f'(allow network-outbound (remote ip "localhost:{port}"))'


def _above(workspace: Path, guarded: tuple[Path, ...]) -> list[Path]:
    """The workspace, and the directories between it and what is guarded."""
    between = {step for path in guarded for step in path.parents if step.is_relative_to(workspace)}
    return sorted({workspace, *between})


def quoted(path: Path) -> str:
    """A path as the kernel spells it, as a string of the profile. Raises ValueError."""
    text = str(path)
    if any(text == moved or text.startswith(moved + "/") for moved in _MOVED):
        text = "/private" + text
    if not path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{text!r} is no plain path from the root")
    if not text.isprintable():
        raise ValueError(f"{text!r} holds a character that a profile cannot say")
    if len(text.encode("utf-8", "surrogateescape")) >= MOST:
        raise ValueError(f"a path of {len(text)} characters is longer than a profile can say: {text[:60]!r}…")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
