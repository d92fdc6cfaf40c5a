"""Starts the sandbox: clean descriptors, an empty environment, the workspace guarded, then bwrap.

    python3 -I -S launcher PLAN     (PLAN: the number of an open file that holds the plan as JSON)

The caller starts this program with whatever it has open and in its environment; nothing of it goes on.
Runs as the account that the command will run as. It is all in one folder, so that it can be copied to
where that account reaches it. Standard library, Python 3.8 and newer, Linux.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, Collection, Mapping

import cores
import devices
import guards
import strangers
import terminal

DECLINED = 2  # exit code: the policy cannot be kept in this workspace


def main() -> None:
    """Read the plan and do it. Comes back only by an exit."""
    with open(int(sys.argv[1])) as file:
        plan: Mapping[str, Any] = json.load(file)
    lacks: Collection[str] = plan["lacks"]  # protections left out, to see that each is needed
    kept: list[int] = [*plan["filters"], *([plan["door"]] if plan["door"] >= 0 else [])]
    if "descriptors" not in lacks:
        close_all_but({0, 1, 2, *kept})
    try:
        if "devices" not in lacks:
            devices.keep()
        cores.keep()
        arguments, guarded = asked(plan)
    except guards.Declined as why:
        print("tier1: declined: %s" % visible(str(why)), file=sys.stderr)
        sys.exit(DECLINED)
    private = bool(terminal.terminals()) and "terminal" not in lacks
    told = {
        "door": plan["door"],
        "terminal": private,
        "guarded": guarded,
        "close": "descriptors" not in lacks,
    }
    argv: list[str] = [
        *(plan["bwrap"], "--args", str(holding("\0".join(arguments)))),
        *("--", plan["python"], "-I", "-S", "/dev/fd/%d" % holding(plan["inside"]), json.dumps(told)),
        *plan["command"],
    ]
    environment: Mapping[str, str] = os.environ if "environment" in lacks else {}

    def start() -> None:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by Python alone
            signal.signal(number, signal.SIG_DFL)
        os.execve(argv[0], argv, environment)

    if private:
        terminal.run(start)
    start()


def visible(text: str) -> str:
    """The text with what a terminal would obey written out: names of files may hold anything."""
    return "".join(each if each.isprintable() else "\\u{%04X}" % ord(each) for each in text)


def close_all_but(kept: Collection[int]) -> None:
    """Close what the caller left open; a closed one of the standard three becomes /dev/null."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            os.closerange(int(name), int(name) + 1)


def holding(text: str) -> int:
    """The number of an open file with that text, for bwrap or what comes after it to read."""
    descriptor = os.memfd_create("tier1", 0)
    with open(descriptor, "w", encoding="utf-8", errors="surrogateescape", closefd=False) as file:
        file.write(text)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def asked(plan: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """(the arguments of bwrap, the paths that are guarded). Raises guards.Declined."""
    lacks, paths = plan["lacks"], (plan["workspace"], plan["protected"], plan["hidden"], plan["empty"])
    mounts, guarded = guards.arguments(*paths, pinned="pins" not in lacks)
    if "strangers" not in lacks:
        mounts += strangers.arguments(*paths, links=plan["links"])
        mounts += strangers.beside(plan["shown"], plan["empty"])
    files: list[str] = []
    for path, text in plan["files"].items():
        files += ["--file", str(holding(text)), path]
    filters: list[str] = []
    for descriptor in plan["filters"]:
        filters += ["--add-seccomp-fd", str(descriptor)]
    return [*plan["first"], *filters, *files, *mounts, *plan["last"]], guarded


if __name__ == "__main__":
    main()
