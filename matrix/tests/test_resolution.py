"""In the network world names are asked of our own server, and of nobody else."""

import socket
from pathlib import Path

import pytest

from matrix import resolution, world


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
        question = server.recv(512)
    return question, resolution.RESOLVER.read_text()


def test_a_look_up_in_the_world_comes_to_us_and_the_machine_s_files_stay():
    if not isinstance(world.standing(), world.Possible):
        pytest.skip("no network world here")
    before = [path.read_bytes() for path in (resolution.RESOLVER, resolution.SWITCH) if path.exists()]
    question, text = world.call(asked)
    assert b"\x06canary\x04test" in question
    assert "nameserver 127.0.0.1" in text
    assert before == [path.read_bytes() for path in (resolution.RESOLVER, resolution.SWITCH) if path.exists()]


def test_a_missing_file_is_left_missing(tmp_path):
    resolution._cover(tmp_path / "none", "text")
    assert not Path(tmp_path / "none").exists()
