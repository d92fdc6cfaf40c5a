"""A container that the Docker API started: its two streams as two pipes."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from typing import Any

from runners.contract import Exit

_LOST = 125  # what `docker run` says of its own failures
_STDOUT = 1


class Attached:
    """A container without a local process. Satisfies `Running`.

    Created, then attached to, then started, so that not a byte is lost. `argv` is the command line
    that says the same.
    """

    pid = 0

    def __init__(self, container: Any, argv: tuple[str, ...]) -> None:
        """Start it. Raises what the API raises; the container is removed then."""
        self.argv = argv
        self._container = container
        self._ended: Exit | None = None
        self._socket: Any = container.attach_socket(params={"stdout": 1, "stderr": 1, "stream": 1})
        self.output, out = os.pipe()
        self.errors, err = os.pipe()
        self._threads = [
            threading.Thread(target=self._carry, args=(out, err), daemon=True),
            threading.Thread(target=self._wait, daemon=True),
        ]
        try:
            container.start()
        except Exception:
            for descriptor in (self.output, out, self.errors, err):
                os.close(descriptor)
            self._let_go()
            raise
        for thread in self._threads:
            thread.start()

    def poll(self) -> Exit | None:
        """How it ended; a death by signal n is told as 128+n."""
        return self._ended

    def kill(self) -> None:
        """End the container."""
        with contextlib.suppress(Exception):  # it has ended meanwhile
            self._container.kill()

    def close(self) -> None:
        """Remove the container and give everything back."""
        os.close(self.output)
        os.close(self.errors)
        with contextlib.suppress(Exception):  # the daemon is gone, and the container with it
            self._container.remove(force=True)
        for thread in self._threads:
            thread.join(timeout=10)
        self._let_go()

    def _carry(self, out: int, err: int) -> None:
        """Take the API's frames apart."""
        frames: Any = importlib.import_module("docker.utils.socket").frames_iter
        try:
            for stream, data in frames(self._socket, tty=False):
                _write(out if stream == _STDOUT else err, data)
        except OSError:
            pass  # nobody reads any more
        finally:
            os.close(out)
            os.close(err)

    def _wait(self) -> None:
        try:
            self._ended = Exit(code=self._container.wait()["StatusCode"])
        except Exception:  # noqa: BLE001 - whatever it is, the daemon does not answer any more
            self._ended = Exit(code=_LOST)

    def _let_go(self) -> None:
        """Close the response before the socket below it, which only the response knows how to flush."""
        with contextlib.suppress(OSError, ValueError):
            self._socket._response.close()  # noqa: SLF001 - the SDK keeps it there, and nowhere else
        self._socket.close()


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
