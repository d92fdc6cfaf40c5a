"""Starts the sandbox: clean descriptors, an empty environment, the workspace guarded, then bwrap.

    python3 -I -S launcher PLAN     (PLAN: the number of an open file that holds the plan as JSON)

The caller starts this program with whatever it has open and in its environment; nothing of it goes on.
Runs as the account that the command will run as. It is all in one folder, so that it can be copied to
where that account reaches it. Standard library, Python 3.8 and newer, Linux.
"""

import json
import os
import signal
import sys

import guards
import strangers
import terminal

DECLINED = 2  # exit code: the policy cannot be kept in this workspace


def main():
    """Read the plan, do it. Does not return."""
    with open(int(sys.argv[1])) as file:
        plan = json.load(file)
    lacks = plan["lacks"]  # protections left out, to see that each is needed
    kept = [*plan["filters"], *([plan["door"]] if plan["door"] >= 0 else [])]
    if "descriptors" not in lacks:
        close_all_but({0, 1, 2, *kept})
    try:
        arguments, guarded = asked(plan)
    except guards.Declined as why:
        print("tier1: declined: %s" % why, file=sys.stderr)
        sys.exit(DECLINED)
    private = bool(terminal.terminals()) and "terminal" not in lacks
    told = {
        "door": plan["door"],
        "terminal": private,
        "guarded": guarded,
        "close": "descriptors" not in lacks,
    }
    argv = [
        *(plan["bwrap"], "--args", str(holding("\0".join(arguments)))),
        *("--", plan["python"], "-I", "-S", "/dev/fd/%d" % holding(plan["inside"]), json.dumps(told)),
        *plan["command"],
    ]
    environment = os.environ if "environment" in lacks else {}

    def start():
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by Python alone
            signal.signal(number, signal.SIG_DFL)
        os.execve(argv[0], argv, environment)

    terminal.run(start) if private else start()


def close_all_but(kept):
    """Close what the caller left open; a closed one of the standard three becomes /dev/null."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            os.closerange(int(name), int(name) + 1)


def holding(text):
    """The number of an open file with that text, for bwrap or what comes after it to read."""
    descriptor = os.memfd_create("tier1", 0)
    os.write(descriptor, text.encode("utf-8", "surrogateescape"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def asked(plan):
    """(the arguments of bwrap, the paths that are guarded). Raises guards.Declined."""
    workspace, hidden, protected = plan["workspace"], plan["hidden"], plan["protected"]
    mounts, guarded = guards.arguments(workspace, protected, hidden, plan["empty"], "pins" not in plan["lacks"])
    if "strangers" not in plan["lacks"]:
        mounts += strangers.arguments(workspace, protected, hidden, plan["empty"], plan["links"])
    files = []
    for path, text in plan["files"].items():
        files += ["--file", str(holding(text)), path]
    filters = []
    for descriptor in plan["filters"]:
        filters += ["--add-seccomp-fd", str(descriptor)]
    return [*plan["first"], *filters, *files, *mounts, *plan["last"]], guarded


if __name__ == "__main__":
    main()
