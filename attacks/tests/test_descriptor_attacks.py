"""The descriptor attacks: what the caller left open is used only where it carries the mark."""

import fcntl
import os
import resource
import socket

import pytest

from attacks.tests.inside import load, run


@pytest.fixture
def copy_of_output():
    """The in-sandbox launcher's own copy of its standard output."""
    copy = os.dup(1)
    yield copy
    os.close(copy)


@pytest.mark.usefixtures("copy_of_output")
class TestInherited:
    def test_a_strangers_file_is_left_alone(self, tmp_path):
        with (tmp_path / "file").open("w+") as file:
            file.write("a stranger's")
            file.flush()
            os.set_inheritable(file.fileno(), True)
            for act in ("read", "write", "flag", "seek"):
                said, facts, _ = run("fd_inherited_file", kind="file", act=act, mark="mine", position=3)
                assert (said, "trace" in facts) == ("absent", False)
            assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == len("a stranger's")
            assert not fcntl.fcntl(file, fcntl.F_GETFL) & os.O_NONBLOCK
        assert (tmp_path / "file").read_text() == "a stranger's"

    def test_the_marked_file_is_read_without_moving_it(self, tmp_path):
        with (tmp_path / "file").open("w+") as file:
            file.write("mine canary")
            file.flush()
            said, facts, steps = run("fd_inherited_file", kind="file", act="read", mark="mine")
            assert (said, facts["trace"], steps) == ("acted", "mine canary", ["look", "read"])
            assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == len("mine canary")

    @pytest.mark.parametrize("number", [900, 1500])
    def test_the_marked_pipe_is_read_whatever_its_number(self, number):
        """A caller with many open files; select(2) ends at 1023."""
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limits[1]), limits[1]))
        try:
            out, into = os.pipe()
            high = fcntl.fcntl(out, fcntl.F_DUPFD, number)
            os.close(out)
            os.write(into, b"mine canary")
            said, facts, _ = run("fd_inherited_file", kind="pipe", act="read", mark="mine")
            for each in (into, high):
                os.close(each)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert (said, facts["trace"]) == ("acted", "mine canary")

    def test_a_strangers_socket_is_left_alone(self):
        one, other = socket.socketpair()
        with one, other:
            other.sendall(b"hello")
            assert run("fd_inherited_socket", act="send", mark="mine")[0] == "absent"
            assert one.recv(9) == b"hello", "looked at without taking it out"
            other.setblocking(False)
            with pytest.raises(BlockingIOError):
                other.recv(9)

    def test_a_directory_without_the_mark_is_none_of_the_callers(self, tmp_path):
        directory = os.open(tmp_path, os.O_RDONLY)
        said, _, _ = run("fd_inherited_dir", way="descriptor", act="create", mark="mine", name="new")
        os.close(directory)
        assert (said, list(tmp_path.iterdir())) == ("absent", [])


def test_a_look_that_does_not_see_its_own_output_is_no_absence(monkeypatch):
    monkeypatch.setattr(os, "fstat", lambda _: os.stat_result(range(10)))
    monkeypatch.setattr(load("syscalls"), "range", lambda *_: [], raising=False)
    with pytest.raises(RuntimeError, match="own copy"):
        run("fd_inherited_file", kind="file", act="read", mark="mine")


@pytest.mark.usefixtures("copy_of_output")
class TestTheLookIsNotTheAct:
    """A refused look leaves open whether the act would have been refused."""

    @pytest.mark.parametrize("act", ["write", "flag", "seek"])
    def test_reading_a_file(self, act, tmp_path, monkeypatch):
        with (tmp_path / "file").open("w+") as file:
            monkeypatch.setattr(os, "pread", _refuse)
            with pytest.raises(RuntimeError, match="says nothing of the act"):
                run("fd_inherited_file", kind="file", act=act, mark="mine", position=3)
            assert not file.closed

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it ends open
    def test_peeking_into_a_socket(self, monkeypatch):
        one, other = socket.socketpair()
        with other:
            os.set_inheritable(one.detach(), True)
            monkeypatch.setattr(socket.socket, "recv", _refuse)
            with pytest.raises(RuntimeError, match="says nothing of the act"):
                run("fd_inherited_socket", act="send", mark="mine", token="t")

    @pytest.mark.parametrize("number", [900, 9000])
    def test_the_callers_file_is_known_under_any_number(self, number, tmp_path):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limits[1] < number + 100:
            pytest.skip("no such numbers here")
        resource.setrlimit(resource.RLIMIT_NOFILE, (number + 100, limits[1]))
        try:
            with (tmp_path / "file").open("w+") as file:
                is_ = os.fstat(file.fileno())
                high = fcntl.fcntl(file, fcntl.F_DUPFD, number)
            told = {"device": is_.st_dev, "inode": is_.st_ino, "token": "t", "mode": 0o646}
            said, facts, _ = run("proc_fd_reopen", way="fchmod", **told)
            mode = os.fstat(high).st_mode & 0o777
            os.close(high)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert (said, mode) == ("acted", 0o646), facts


def _refuse(*_, **__):
    raise PermissionError(1, "Operation not permitted")
