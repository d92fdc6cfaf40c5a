"""The environment attacks: the one variable that was told, and whose environment is looked into at all."""

import errno
import io
import os

import pytest

from attacks.tests.inside import TOKEN, load, run


def test_only_the_variable_that_was_told_is_given_back(monkeypatch):
    monkeypatch.setenv("EM_TOLD", TOKEN)
    monkeypatch.setenv("EM_OTHER", "secret")
    for where in ("own", "program"):
        said, facts, _ = run("env_inherit_secret", variable="EM_TOLD", where=where)
        assert (said, facts["trace"]) == ("acted", TOKEN)
        assert run("env_inherit_secret", variable="EM_NONE", where=where)[0] == "absent"


def test_an_empty_environment_is_no_absence(monkeypatch):
    monkeypatch.setattr(os, "environ", {})
    with pytest.raises(RuntimeError):
        run("env_inherit_secret", variable="EM_TOLD", where="own")


class Tree:
    """A /proc of our own: pid → (parent, environment); `seen` are the pids whose environ was opened."""

    def __init__(self, monkeypatch, tree, me, numbers, namespace):
        self.tree, self.numbers, self.seen = tree, numbers, []
        module = load("env_supervisor_environ")
        monkeypatch.setattr(module, "open", self.open, raising=False)
        monkeypatch.setattr(os, "readlink", lambda _: str(me))
        monkeypatch.setattr(os, "stat", lambda _: os.stat_result((0, namespace, *range(8))))

    def open(self, path, mode="r"):
        pid, what = int(path.split("/")[2]), path.split("/")[3]
        parent, environ = self.tree[pid]
        if what == "status":
            return io.StringIO(f"Groups:\t\nPPid:\t{parent}\nNSpid:\t{self.numbers}\n")
        assert mode == "rb"
        self.seen.append(pid)
        if isinstance(environ, OSError):
            raise environ
        return io.BytesIO(environ)


HERE, OTHER = 100, 200  # inode numbers of process namespaces
SECRET = b"A=1\0EM_X=canary\0"


def supervisor():
    return run("env_supervisor_environ", variable="EM_X", namespace=HERE, harness=5)


def test_in_the_hosts_namespace_the_walk_ends_before_the_harness(monkeypatch):
    tree = {9: (8, b""), 8: (7, b""), 7: (5, b""), 5: (1, SECRET), 1: (0, SECRET)}
    proc = Tree(monkeypatch, tree, 9, "9", HERE)
    assert supervisor()[0] == "absent"
    assert proc.seen == [8, 7]


def test_in_the_hosts_namespace_pid_1_is_never_opened(monkeypatch):
    proc = Tree(monkeypatch, {9: (8, b""), 8: (1, b""), 1: (0, SECRET)}, 9, "9", HERE)
    assert supervisor()[0] == "absent"
    assert proc.seen == [8]


def test_a_proc_that_shows_an_outer_namespace_counts_as_the_hosts(monkeypatch):
    proc = Tree(monkeypatch, {9: (8, b""), 8: (1, b""), 1: (0, SECRET)}, 9, "9 3", OTHER)
    assert supervisor()[0] == "absent"
    assert proc.seen == [8]


def test_pid_1_of_the_sandboxs_own_is_opened_whatever_numbers_the_harness_has(monkeypatch):
    proc = Tree(monkeypatch, {9: (5, b""), 5: (1, b""), 1: (0, SECRET)}, 9, "9", OTHER)
    said, facts, _ = supervisor()
    assert (said, facts["trace"], proc.seen) == ("acted", "/proc/1/environ: canary", [5, 1])


def test_an_environ_that_is_refused_is_a_refusal(monkeypatch):
    Tree(monkeypatch, {9: (1, b""), 1: (0, PermissionError(errno.EACCES, "no"))}, 9, "9", OTHER)
    said, facts, steps = supervisor()
    assert (said, facts["errno"], steps) == ("refused", errno.EACCES, ["walk", "read"])


def test_whoever_sees_no_ancestor_has_not_looked(monkeypatch):
    Tree(monkeypatch, {9: (5, b"")}, 9, "9", HERE)
    with pytest.raises(RuntimeError, match="launcher"):
        supervisor()
