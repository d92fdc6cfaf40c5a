"""In the network world names are asked of our own server, and of nobody else."""

import contextlib
import os
import socket
from pathlib import Path

import pytest

from matrix import resolution, world

FILES = (resolution.RESOLVER, resolution.SWITCH, resolution.HOSTS)


def test_hosts_are_looked_up_in_the_file_and_by_dns():
    given = "passwd: files sss\n hosts: files mdns4 resolve [!UNAVAIL=return] dns\ngroup: files\n"
    kept = ["passwd: files sss", "group: files"]
    assert resolution.switched(given).splitlines() == [*kept, "hosts: files dns"]


def asked():
    """Who is told of a look-up in the world, and what the files say there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 53))
        server.settimeout(5)
        with pytest.raises(OSError, match=r"[Nn]ame"):
            socket.getaddrinfo("canary.test", 80)
        questions = [server.recv(512)]
        server.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                questions.append(server.recv(512))
    return questions, resolution.RESOLVER.read_text()


def unanswered():
    """What a look-up comes to where nobody answers; a name from the machine's own file too."""
    found = {}
    for name in ("canary.test", "localhost", socket.gethostname()):
        try:
            found[name] = socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)[0][4][0]
        except OSError as error:
            found[name] = type(error).__name__
    return found


def covered(directory):
    """Whether a service can be reached before it is covered, and after it was once and twice."""
    path, heard = Path(directory) / "socket", []
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(path))
        service.listen()
        for _ in range(3):
            with socket.socket(socket.AF_UNIX) as asking:
                heard.append(asking.connect_ex(str(path)) == 0)
            resolution.cover({path: "ours"})
    return heard, path.read_text(), os.listdir(directory)


@pytest.fixture
def possible():
    if not isinstance(world.standing(), world.Possible):
        pytest.skip("no network world here")


@pytest.mark.usefixtures("possible")
class TestInTheWorld:
    def test_a_look_up_comes_to_us_alone_and_the_machine_s_files_stay(self):
        before = [path.read_bytes() for path in FILES if path.exists()]
        questions, text = world.call(asked)
        assert all(b"\x06canary\x04test\x00" in question for question in questions), "no search domain"
        if resolution.RESOLVER.exists():
            assert "nameserver 127.0.0.1" in text
        assert before == [path.read_bytes() for path in FILES if path.exists()]

    def test_a_look_up_that_nobody_answers_ends_and_reaches_nothing(self):
        found = world.call(unanswered)
        assert found.pop("localhost") in {"127.0.0.1", "::1"}
        assert set(found.values()) == {"gaierror"}

    def test_a_service_that_is_covered_is_out_of_reach_also_the_second_time(self, tmp_path):
        heard, text, left = world.call(covered, str(tmp_path))
        assert heard == [True, False, False]
        assert text == "ours"
        assert left == ["socket"]

    def test_a_link_is_followed(self, tmp_path):
        (tmp_path / "file").write_text("the machine's")
        (tmp_path / "link").symlink_to("file")
        assert world.call(linked, str(tmp_path)) == "ours"
        assert (tmp_path / "file").read_text() == "the machine's"


def linked(directory):
    """What is behind a link whose target is covered."""
    resolution.cover({Path(directory) / "link": "ours"})
    return (Path(directory) / "file").read_text()
