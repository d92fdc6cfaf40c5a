"""What every runner must do, as checks that say what is wrong, or nothing.

A runner is checked on the real program; the doubles of test_conformance.py show that each check
can fail.
"""

from __future__ import annotations

import ast
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from runners.contract import Channel, Exit
from runners.tests.bench import GRANTED, Bench, Ended, own, see

Check = Callable[[Bench, frozenset[str]], str]
MIB = 1 << 20
PATIENCE = 5.0  # seconds that what was ended may take to be gone
_ENVIRON = "print([item for item in open('/proc/self/environ', 'rb').read().split(b'\\0') if item])"


def _sleep(bench: Bench) -> str:
    """Waits to be ended, but not for ever, and can be found by its argument."""
    return f"import time; print('up', flush=True); time.sleep(20)  # {bench.run}"


def _up(ended: Ended) -> bool:
    return b"up" in ended.output


def speaks(bench: Bench, adds: frozenset[str]) -> str:
    """Standard output and the exit code come through."""
    ended = bench.see("import os; print('spoken', flush=True); os._exit(7)")
    if b"spoken" not in ended.output:
        return f"nothing was said: {ended}"
    return "" if ended.exit == Exit(code=7) else f"exit code 7 became {ended.exit}"


def environment(bench: Bench, adds: frozenset[str]) -> str:
    """The command sees what the policy grants, to the byte, and what the sandbox is known to add."""
    ended = bench.see(_ENVIRON)
    if not ended.output:
        return f"nothing was said: {ended}"
    seen = dict(item.split(b"=", 1) for item in ast.literal_eval(ended.output.decode()))
    granted = {name.encode(): value.encode() for name, value in GRANTED.items()}
    if wrong := {name for name in granted if seen.get(name) != granted[name]}:
        return f"granted, and not there as granted: {wrong}"
    more = {name.decode() for name in seen.keys() - granted.keys()} - adds
    return f"not granted, and there: {sorted(more)}" if more else ""


def much(bench: Bench, adds: frozenset[str]) -> str:
    """A MiB on standard output arrives whole, with standard error beside it."""
    said = f"import sys; sys.stderr.write('e' * 99999); sys.stdout.write('o' * {MIB})"
    ended = bench.see(said)
    if ended.output.count(b"o") != MIB or len(ended.output) != MIB:
        return f"{len(ended.output)} of {MIB} bytes arrived"
    return (
        "" if ended.errors.count(b"e") >= 99999 else f"{len(ended.errors)} of 99999 bytes of errors arrived"
    )


def workspace(bench: Bench, adds: frozenset[str]) -> str:
    """The workspace has the same path inside, and what is written there is there outside."""
    given, made = bench.workspace / "given", bench.workspace / "made"
    given.write_text("from outside")
    own(given, bench.identity)
    wrote = f"open({str(made)!r}, 'w').write('from inside')"
    ended = bench.see(f"print(open({str(given)!r}).read()); {wrote}")
    if b"from outside" not in ended.output:
        return f"not readable inside: {ended}"
    return (
        ""
        if made.exists() and made.read_text() == "from inside"
        else "what was written inside is not there outside"
    )


def ends(bench: Bench, adds: frozenset[str]) -> str:
    """kill() ends the launcher at once, and nothing that carries the run's directory is left."""
    ended = see(bench.start(_sleep(bench)), until=_up)
    if not _up(ended):
        return f"it did not start: {ended}"
    return left(bench)


def left(bench: Bench) -> str:
    """Processes and mounts of this run that do not go away by themselves."""
    end = time.monotonic() + PATIENCE
    while (found := _survivors(bench.run)) and time.monotonic() < end:
        time.sleep(0.02)
    for process in found:
        with suppress(psutil.Error):
            process.kill()
    mounts = [
        line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(bench.run) in line
    ]
    return f"left: {found} {mounts}" if found or mounts else ""


def _survivors(run: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            command = process.cmdline()
            service = any(word in " ".join(command[:1]) for word in ("dockerd", "containerd"))
            if process.pid != os.getpid() and any(str(run) in word for word in command) and not service:
                found.append(process)
    return found


def terminal(bench: Bench, adds: frozenset[str]) -> str:
    """Standard input is a terminal inside; standard output is the pipe all the same."""
    if Channel.TERMINAL not in bench.runner.channels:
        return ""
    outer, inner = os.openpty()
    try:
        named = Path(os.ttyname(inner))
        ended = bench.see(
            "import os; print('tty' if os.isatty(0) else 'none')",
            terminal=named,
            channels=frozenset({Channel.TERMINAL}),
        )
    finally:
        os.close(outer)
        os.close(inner)
    return "" if b"tty" in ended.output else f"standard input is no terminal: {ended}"


def wrapper(bench: Bench, adds: frozenset[str]) -> str:
    """The launcher is one process of ours that can be killed, with its exit known at once."""
    running = bench.start(_sleep(bench), channels=frozenset({Channel.WRAPPER_PROCESS}))
    child = running.pid in {each.pid for each in psutil.Process().children()}
    ended = see(running, until=_up)
    left(bench)
    return "" if child and _up(ended) and ended.exit is None else f"a child: {child}; {ended}"


def reaches(bench: Bench, adds: frozenset[str]) -> str:
    """Where nothing is closed, the caller's descriptor and variable are there inside."""
    wanted = frozenset({Channel.DESCRIPTORS, Channel.CALLER_ENVIRONMENT})
    look = "import os; print(os.environ.get('CALLER')); print(os.fstat(77).st_ino)"
    descriptor = os.open(bench.run, os.O_RDONLY)
    number = os.dup2(descriptor, 77, inheritable=False)
    try:
        ended = bench.see(look, descriptors=(number,), channels=wanted)
    finally:
        os.close(descriptor)
        os.close(number)
    return "" if ended.output.split() == [b"seen", str(bench.run.stat().st_ino).encode()] else str(ended)


def together(bench: Bench, adds: frozenset[str]) -> str:
    """Two at once do not get in each other's way."""
    first, second = bench.start(_sleep(bench)), bench.start("print('second')")
    seen = see(second)
    ended = see(first, until=_up)
    left(bench)
    return "" if b"second" in seen.output and _up(ended) else f"{seen} {ended}"


def shown(bench: Bench, adds: frozenset[str]) -> str:
    """A folder beside the workspace is there under its own name, and cannot be changed."""
    folder = bench.run / "programs"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    program, made = folder / "program", folder / "made"
    program.write_text("it is shown")
    own(folder, bench.identity)
    inside = (
        f"print(open({str(program)!r}).read())\n"
        f"try: open({str(made)!r}, 'w')\nexcept OSError: print('closed')"
    )
    try:
        ended = bench.see(inside, policy=bench.policy(shown=(folder,)))
        if b"it is shown" not in ended.output:
            return f"a shown file cannot be read: {ended}"
        return "a shown folder was changed" if made.exists() or b"closed" not in ended.output else ""
    finally:
        shutil.rmtree(folder)


def masks(bench: Bench, adds: frozenset[str]) -> str:
    """What is hidden cannot be read, what is protected cannot be changed; the rest of the workspace can."""
    hidden, protected, beside = (bench.workspace / name for name in ("hidden", "protected", "beside"))
    for path in (hidden, protected, beside):
        path.write_text("content of " + path.name)
        own(path, bench.identity)
        path.chmod(0o666)
    tried = f"""
for path, mode in (({str(hidden)!r}, "r"), ({str(protected)!r}, "w"), ({str(beside)!r}, "r+")):
    try:
        with open(path, mode) as file:
            print(file.write("changed") if mode == "w" else file.read())
    except OSError as error:
        print(type(error).__name__)
"""
    ended = bench.see(tried, policy=bench.policy(hidden=(hidden,), protected=(protected,)))
    if b"content of beside" not in ended.output:
        return f"the rest of the workspace is not usable: {ended}"
    if b"content of hidden" in ended.output:
        return "what was hidden was read"
    return "" if protected.read_text() == "content of protected" else "what was protected was changed"


CHECKS: tuple[Check, ...] = (
    speaks,
    environment,
    much,
    workspace,
    ends,
    terminal,
    wrapper,
    together,
    masks,
    shown,
)
