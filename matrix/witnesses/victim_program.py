"""The program of the victim process: harmless, outside every sandbox, and it tells what befalls it.

    python3 -I -S victim_program.py MARKER [CANARY]

The first line on standard input says what to hold; "show" has it say what it holds by now, "cell
TEXT" and "limit NUMBER" change it first. It writes lines: `ready`, an answer, or a signal that it
received. A line is KEY=VALUE, separated by tabs. It ends with its standard input, or by itself after
ten minutes.

Runs with the system's interpreter, so standard library and Python 3.8; a run starts hundreds, so
nothing is imported that takes long. Linux and macOS.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import select
import signal
import struct
import sys

SECONDS = 600  # longer than a row waits for its closing control; with the harness it ends at once
CELL = 64  # bytes of memory that the canary lives in
HEARD = (signal.SIGUSR1, signal.SIGURG, signal.SIGIO)
SIGINFO = 128  # bytes of a struct signalfd_siginfo
RLIMIT_RSS, RLIMIT_LOCKS = 5, 10  # without effect since Linux 2.4
PR_SET_PTRACER = 0x59616D61


class Victim:
    """What it holds, and how it speaks."""

    def __init__(self, wanted: dict[str, str]) -> None:
        self.cell = ctypes.create_string_buffer(wanted["cell"].encode(), CELL)
        with open("unlinked", "w+b", buffering=0) as file:  # noqa: PTH123 - nothing is imported needlessly
            file.write(wanted["descriptor"].encode())
            self.descriptor = os.dup(file.fileno())
        os.rename("unlinked", wanted["mapping"] or "unlinked")  # noqa: PTH104
        self.mapped = mmap.mmap(self.descriptor, 0, prot=mmap.PROT_READ)
        os.unlink(wanted["mapping"] or "unlinked")  # noqa: PTH108
        if sys.platform == "linux":
            resource.setrlimit(RLIMIT_RSS, (int(wanted["limit"]), resource.RLIM_INFINITY))
            resource.setrlimit(RLIMIT_LOCKS, (int(wanted["soft"]), int(wanted["hard"])))
            ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(-1))  # refused where there is no yama

    def holds(self) -> dict[str, str]:
        """Everything that a canary may be in, read afresh."""
        return {
            "cell": self.cell.value.decode("latin-1"),
            "environ": os.environ.get("ESC_CANARY", ""),
            "argv": sys.argv[2] if len(sys.argv) > 2 else "",  # noqa: PLR2004
            "descriptor": os.pread(self.descriptor, 4096, 0).decode("latin-1"),
            "mapping": mapped(),
            "limits": limits(),
        }

    def answer(self, command: str) -> None:
        """One command, one line."""
        verb, _, text = command.strip().partition(" ")
        if verb == "cell":
            self.cell.value = text.encode()
        elif verb == "limit":
            resource.setrlimit(RLIMIT_LOCKS, (int(text), resource.getrlimit(RLIMIT_LOCKS)[1]))
        say(**self.holds())


def mapped() -> str:
    """The name of the mapped file, as this process's own map has it."""
    if sys.platform != "linux":
        return ""
    with open("/proc/self/maps") as maps:  # noqa: PTH123
        names = [line.split()[-2] for line in maps if line.endswith("(deleted)\n")]
    return os.path.basename(names[0]) if names else ""  # noqa: PTH119


def limits() -> str:
    """The two numbers of the limit that has no effect."""
    if sys.platform != "linux":
        return ""
    soft, hard = resource.getrlimit(RLIMIT_LOCKS)
    return f"{soft} {hard}"


def say(**facts: str | int) -> None:
    """One line to the harness."""
    os.write(1, "\t".join(f"{key}={value}" for key, value in facts.items()).encode() + b"\n")


def parse(line: bytes) -> dict[str, str]:
    """What such a line says; nothing, of any other line."""
    pairs = [part.partition("=") for part in line.decode("utf-8", "replace").strip("\n").split("\t")]
    return {key: value for key, separator, value in pairs if separator}


def listen() -> int:
    """A descriptor to read received signals from; the signals are blocked or caught, so they do no harm."""
    if sys.platform == "linux":
        signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        mask = ctypes.c_uint64(sum(1 << (number - 1) for number in HEARD))
        # The C library's sigset_t has 128 bytes, of which the kernel takes the first eight.
        padded = ctypes.create_string_buffer(bytes(mask), 128)
        return ctypes.CDLL(None).signalfd(-1, padded, os.O_CLOEXEC)
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    for number in HEARD:
        signal.signal(number, lambda *_: None)
    return read


def hear(descriptor: int) -> None:
    """Report one signal: its number, who sent it, and the value that came with it."""
    data = os.read(descriptor, SIGINFO if sys.platform == "linux" else 1)
    if len(data) == SIGINFO:
        number, _, _, sender = struct.unpack_from("=Iiii", data)
        (value,) = struct.unpack_from("=i", data, 44)
        say(signal=number, sender=sender, value=value)
    elif data:
        say(signal=data[0], sender=0, value=0)


def main() -> None:
    """Hold what is wanted; answer until standard input ends."""
    signal.alarm(SECONDS)
    lines = os.fdopen(0, "rb", buffering=0)
    signals = listen()
    victim = Victim(parse(lines.readline()))
    say(ready=ctypes.addressof(victim.cell), held=victim.descriptor)
    while True:
        ready, _, _ = select.select([lines, signals], [], [])
        if signals in ready:
            hear(signals)
        if lines in ready:
            command = lines.readline()
            if not command:
                return
            victim.answer(command.decode())


if __name__ == "__main__":
    main()
