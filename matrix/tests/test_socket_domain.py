"""The look through a process's sockets: its own listing closes under it, and it may have many files open."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import ExitStack

import pytest

from matrix.witnesses.socket_domain import domains

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pidfd_getfd(2) is Linux's")


def test_a_socket_behind_many_files_is_seen_by_a_process_that_looks_at_itself() -> None:
    with ExitStack() as files:
        for _ in range(100):
            files.enter_context(open(os.devnull))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM):
            for _ in range(3):
                assert socket.AF_UNIX in domains(os.getpid())


def test_a_process_that_is_not_there_is_told() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    with pytest.raises(ProcessLookupError):
        domains(pid)
