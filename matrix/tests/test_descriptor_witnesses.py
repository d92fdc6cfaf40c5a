"""The witnesses of inherited files: what makes them blind."""

from __future__ import annotations

import os

import pytest


def test_a_pipe_that_was_emptied_makes_it_blind(witness):
    watching = witness("fd-inherited-file-pipe")
    watching.plant()
    os.read(watching.open[0], 4096)
    os.close(watching.open.pop())
    assert "emptied" in watching.check()


def test_a_file_that_lost_its_content_makes_it_blind(witness):
    watching = witness("fd-inherited-file-read")
    watching.plant()
    os.ftruncate(watching.open[0], 0)
    assert "lost" in watching.check()


@pytest.mark.parametrize("name", ["fd-inherited-dir-read", "fd-inherited-dir-create"])
def test_a_directory_that_is_gone_makes_it_blind(witness, name):
    watching = witness(name)
    watching.plant()
    for file in watching.directory.iterdir():
        file.unlink()
    watching.directory.rmdir()
    watching.directory.write_text("no directory")
    assert watching.check() != ""
    watching.directory.unlink()


@pytest.mark.parametrize("name", ["tcp", "unix"])
def test_a_socket_whose_other_end_is_closed_makes_it_blind(witness, name):
    watching = witness(f"fd-inherited-socket-{name}")
    watching.plant()
    watching.other.close()
    assert watching.check() != ""


def test_a_listener_elsewhere_that_is_closed_makes_it_blind(witness):
    watching = witness("fd-inherited-socket-reconnect")
    watching.plant()
    watching.other.close()
    assert watching.check() == ""
    watching.elsewhere.close()
    assert watching.check() != ""
