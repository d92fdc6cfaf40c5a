"""The in-sandbox launcher: runs a list of attempts and says, line by line, what happened.

    python3 -I -S launcher.py REQUEST.json

The request lies beside the attacks in the workspace. Every attempt runs in a forked child of its
own with a deadline; after each one the parent reads that attempt's fresh token from the workspace
and reports it, which proves that the sandbox, the workspace and this process are still alive.
Each line is `NONCE {json}`, so that whatever else is printed cannot be taken for a report.

Standard library only, Python 3.8 and newer, Linux and macOS.
"""

import fcntl
import importlib
import json
import os
import select
import signal
import sys
import time

UNKNOWN = "unknown attack"
BROKEN = "broken: "  # how the harness begins when it could not do its part of a meeting
TOLD = 8192  # characters kept of what came with a refusal
MANY = 8  # attempts from which on it pays to import their attacks once for all


class Absent:
    """Nothing to act on was found, having looked where at least oneself must be seen."""

    def __init__(self, looked_at):
        """Keep where it looked."""
        self.looked_at = looked_at


class Inside:
    """The act worked, and its trace was found again inside: a private copy."""

    def __init__(self, trace):
        """Keep what was found."""
        self.trace = trace


class Target:
    """What one attempt is told, and how it speaks.

    `told` holds the row's arguments and what the witness planted. `token`, where told, is what to
    leave outside; a canary that must be read is never told.
    """

    def __init__(self, told, speak, platform=sys.platform):
        """`speak(kind, **facts)` sends one line to the harness; `platform` is sys.platform."""
        self.told = told
        self.platform = platform
        self._speak = speak

    def __getattr__(self, name):
        """A told value by its name: target.path is target.told['path']."""
        try:
            return self.told[name]
        except KeyError:
            known = sorted(self.told)
            raise AttributeError("the harness did not tell %r; it told %s" % (name, known)) from None

    def step(self, name):
        """Name the next step before its call; the row says which one is decisive."""
        self._speak("step", step=name)

    def meet(self, moment=""):
        """Tell the harness that the moment has come, and wait until it has acted; gives what it says.

        For attacks that need the harness to do something meanwhile; one that needs it several times
        names each moment but the first. This process keeps a lock on the file, by which the harness
        knows it. A file that cannot be written, a harness that stays away (for 3 seconds, or as many as
        it told as `patience`) and one that could not do its part are no refusals: RuntimeError.
        """
        suffix = "-" + moment if moment else ""
        ready, met = self.ready + suffix, self.met + suffix
        try:
            self._ready = open(ready, "w")
            fcntl.lockf(self._ready, fcntl.LOCK_EX)
        except OSError as error:
            raise RuntimeError("cannot tell the harness: %s" % error) from None
        self._speak("meet", moment=moment)  # wakes a harness that listens to us, and says nothing else
        end = time.monotonic() + self.told.get("patience", 3.0)
        while not os.path.exists(met):
            if time.monotonic() > end:
                raise RuntimeError("the harness did not come: is this workspace the one it sees?")
            time.sleep(0.0005)
        with open(met) as answer:
            said = answer.read()
        if said.startswith(BROKEN):
            raise RuntimeError(said)
        return said

    def absent(self, looked_at):
        """Return this: there was nothing to act on, and here is where I looked."""
        return Absent(looked_at)

    def inside(self, trace):
        """Return this: the act worked, but its trace turned up inside."""
        return Inside(trace)


def text(trace):
    """A trace as bounded text: what an attack read may be anything."""
    if isinstance(trace, bytes):
        trace = trace.decode("latin-1")
    return ("" if trace is None else str(trace))[:65536]


def judge_nothing(attempt, target):
    """Run one attempt and translate its outcome into (kind, facts), without an opinion."""
    try:
        found = attempt(target)
    except NotImplementedError as why:
        return "unsupported", {"why": str(why) or "not supported here"}
    except OSError as error:
        if error.errno is None and str(error) == "timed out":  # its own deadline, not the kernel
            return "timed_out", {}
        return "refused", {"errno": error.errno or 0, "text": str(error)[:TOLD]}
    if isinstance(found, Absent):
        return "absent", {"looked_at": text(found.looked_at)}
    if isinstance(found, Inside):
        return "acted", {"trace": "", "inside": text(found.trace)}
    return "acted", {"trace": text(found), "inside": ""}


def child(task, speak):
    """Body of the forked child: load the attack, run it, say how it went."""
    try:
        module = importlib.import_module(task["attack"])
    except ImportError as error:
        why = UNKNOWN if error.name == task["attack"] else "the interpreter here lacks %s" % error.name
        speak("said", said="unsupported", why=why)
        return
    try:
        said, facts = judge_nothing(module.attempt, Target(task["told"], speak))
    except BaseException as error:  # whatever it is, it is reported as a crash and never as a refusal
        said, facts = "crashed", {"text": "%s: %s" % (type(error).__name__, error)}
    speak("said", said=said, **facts)


def reap(pid, seconds):
    """Wait for the child, at most `seconds`; returns (exit code, signal, timed out)."""
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if os.WIFSIGNALED(status):
                return 0, os.WTERMSIG(status), False
            return os.WEXITSTATUS(status), 0, False
        left = end - time.monotonic()
        if left <= 0:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return 0, 0, True
        select.select([], [], [], min(left, 0.002))


def alive(path):
    """This attempt's token, read afresh from the workspace; empty where it cannot be read."""
    try:
        with open(path) as file:
            return file.read(256)
    except OSError:
        return ""


def run(task, speak_line):
    """One attempt from fork to report."""

    def speak(kind, **facts):
        speak_line(dict(facts, kind=kind, id=task["id"]))

    speak("begin")
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            child(task, speak)
        finally:
            os._exit(0)
    code, signalled, late = reap(pid, task["seconds"])
    seconds = round(time.monotonic() - begun, 6)
    speak("end", code=code, signal=signalled, late=late, seconds=seconds, alive=alive(task["alive"]))
    time.sleep(task["told"].get("linger", 0))  # stays, for rows in which the harness ends the sandbox


def load_once(attacks):
    """Import them before the forks, so that not every attempt compiles what many need.

    An attack only defines functions when it is imported. What cannot be imported is left to its own
    attempt, which says so.
    """
    for attack in sorted(set(attacks)):
        try:
            importlib.import_module(attack)
        except Exception as error:
            sys.stderr.write("launcher: %s: %s\n" % (attack, error))


def main():
    """Run every attempt of the request in its order."""
    with open(sys.argv[1]) as file:
        request = json.load(file)
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    if len(request["attempts"]) > MANY:
        load_once(task["attack"] for task in request["attempts"])
    # Attacks may do what they like to descriptor 1, and one of the standard three may be closed.
    out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)

    def speak_line(facts):
        # A line break first: an attack may have printed half a line.
        line = "\n" + request["nonce"] + " " + json.dumps(facts) + "\n"
        data = line.encode()
        while data:
            data = data[os.write(out, data) :]

    speak_line({"kind": "hello", "pid": os.getpid(), "uid": os.getuid(), "python": sys.version.split()[0]})
    for task in request["attempts"]:
        run(task, speak_line)
    speak_line({"kind": "bye"})


if __name__ == "__main__":
    sys.modules["launcher"] = sys.modules["__main__"]
    main()
