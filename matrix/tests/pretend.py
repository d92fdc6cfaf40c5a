"""Program that the doubles execute in place of a sandbox: pretend.py MODE PYTHON … LAUNCHER REQUEST.

No sandbox is needed for it: it refuses, copies or lies by replacing functions of the interpreter that
runs the in-sandbox launcher, or by not running it at all.
"""

import builtins
import json
import os
import resource
import runpy
import shutil
import signal
import socket
import sys
import tempfile
import time

MODE, COMMAND = sys.argv[1], sys.argv[2:]
LAUNCHER, REQUEST = COMMAND[-2:]
WORKSPACE = os.path.dirname(os.path.dirname(REQUEST))
real_open, real_os_open = builtins.open, os.open


def launch(launcher=LAUNCHER, request=REQUEST):
    """Run the in-sandbox launcher in this process."""
    sys.argv = [launcher, request]
    runpy.run_path(launcher, run_name="__main__")


def patch(path_of, allowed=lambda path: True):
    """Replace what the attacks use by versions that rename paths and refuse some."""

    def check(path):
        if isinstance(path, int):
            return path
        moved = path_of(os.path.realpath(path))
        if not allowed(moved):
            raise PermissionError(1, "Operation not permitted", path)
        return moved

    builtins.open = lambda path, *a, **k: real_open(check(path), *a, **k)
    os.open = lambda path, *a, **k: real_os_open(check(path), *a, **k)


def no_network(error):
    """Refuse every connect()."""

    def connect(self, address):
        raise error

    socket.socket.connect = connect


def hold():
    """Grants the workspace and nothing else."""
    patch(lambda path: path, lambda path: path.startswith((WORKSPACE, "/usr", sys.prefix)))
    no_network(ConnectionRefusedError(111, "Connection refused"))
    launch()


def leak():
    """Grants everything."""
    launch()


def fallback():
    """Warns and runs unconfined."""
    print("warning: cannot set up the sandbox, running without it", file=sys.stderr)
    launch()


def refuse_all():
    """Refuses every open() in an attempt, the granted ones too."""
    real_fork = os.fork

    def fork():
        pid = real_fork()
        if pid == 0:
            patch(lambda path: path, lambda path: path.endswith(".py") or ".escape-matrix" in path)
            no_network(PermissionError(1, "Operation not permitted"))
        return pid

    os.fork = fork
    launch()


def throw_away():
    """Takes every write into a copy, the granted ones too."""
    copy = tempfile.mkdtemp(prefix="escape-matrix-double-")
    shutil.copytree(os.path.dirname(os.path.dirname(WORKSPACE)), copy + "/run", dirs_exist_ok=True)
    run = os.path.dirname(os.path.dirname(WORKSPACE))
    patch(lambda path: copy + "/run" + path[len(run) :] if path.startswith(run) else path)
    no_network(ConnectionRefusedError(111, "Connection refused"))
    try:
        launch()
    finally:
        builtins.open, os.open = real_open, real_os_open  # to remove it, names must mean themselves again
        shutil.rmtree(copy)


def empty_workspace():
    """Starts, but shows nothing of the workspace."""
    os.execv(COMMAND[0], [*COMMAND[:-2], "/nonexistent/launcher.py", "/nonexistent/request.json"])


def never_start():
    """As a shell that does not find the program."""
    sys.exit(127)


def nothing():
    """Runs nothing and is content."""


def only_words():
    """Prints what a refusal looks like, and fails."""
    print("Operation not permitted")
    print("Operation not permitted", file=sys.stderr)
    sys.exit(1)


def hang():
    """Never ends by itself within any deadline."""
    time.sleep(20)


def crash():
    """Dies in the middle of the first attempt."""
    patch(lambda path: os.kill(os.getppid(), signal.SIGKILL) or path if "canary" in path else path)
    no_network(None)
    real_connect = socket.socket.connect

    def connect(self, address):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1)
        return real_connect(self, address)

    socket.socket.connect = connect
    launch()


def lie():
    """Reads the request and reports a refusal of every attempt, without running one."""
    with open(REQUEST) as file:
        request = json.load(file)
    say = [{"kind": "hello"}]
    for task in request["attempts"]:
        one = {"id": task["id"]}
        say += [
            dict(one, kind="begin"),
            dict(one, kind="step", step="connect"),
            dict(one, kind="step", step="open"),
        ]
        say += [
            dict(one, kind="said", said="refused", errno=1),
            dict(one, kind="end", seconds=0.01, alive="?"),
        ]
    for line in say:
        print(request["nonce"], json.dumps(line))


def lie_unheard():
    """Prints lines that look like reports, with a nonce of its own."""
    print('em00 {"kind": "hello"}')
    print('em00 {"kind": "said", "said": "refused", "errno": 1}')


def twice():
    """Runs the command confined, and then once more without."""
    if os.fork() == 0:
        hold()
        os._exit(0)
    os.wait()
    launch()


def file_size():
    """Lets no file grow: a fault of every write, and not a refusal of the outside."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    launch()


def lingering():
    """Leaves everything alive, and stays itself until that has ended of its own accord."""
    launch()
    sys.stdout.flush()
    time.sleep(4.5)


def flood():
    """Prints more than anybody wants to keep, then leaks."""
    for _ in range(200):
        os.write(1, b"x" * 65536)
    os.write(1, b"\n")
    launch()


def afterwards():
    """Refuses, and lets the canary out once the launcher is gone."""
    with open(REQUEST) as file:
        tasks = json.load(file)["attempts"]
    if os.fork() == 0:
        os.setsid()
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        parent = os.getppid()
        end = time.monotonic() + 5
        while os.getppid() == parent and time.monotonic() < end:
            time.sleep(0.001)
        for task in tasks:
            if "port" in task["told"]:
                with socket.create_connection((task["told"]["address"], task["told"]["port"])) as out:
                    out.sendall(task["told"]["token"].encode())
        os._exit(0)
    hold()


if __name__ == "__main__":
    globals()[MODE]()
