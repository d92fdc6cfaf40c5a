"""An outside directory that the caller has open or works in: sees its file read, or a new one made."""

from __future__ import annotations

import os
from pathlib import Path

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token

FLAGS = {"read": "O_RDONLY", "path": "O_PATH"}


class Witness(Watching):
    """`plant.opened` is "read" or "path"; without it the launcher is started in the directory.

    `plant.below` opens an inner directory instead, so that the file is reached through "..".
    """

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.act = str(ground.case.args["act"])
        self.name = fresh_token()
        self.mark = fresh_token()
        self.directory: Path | None = None
        self.descriptor = -1

    def plant(self) -> Planted:
        """Make directory and file; the attack is told names, and the token only where it is to be left."""
        directory = self.directory = self.ground.place(self.ground.case.place)
        told = {"name": self.name, "mark": self.mark}
        if self.act == "read":
            self.ground.file(directory / self.name, self.ground.token)
        else:
            told["token"] = self.ground.token
        opened = directory
        if self.ground.case.plant.get("below"):
            opened = self.ground.folder(directory / "below")
            told["name"] = f"../{self.name}"
        self.ground.file(opened / self.mark, "")
        how = self.ground.case.plant.get("opened")
        if how is None:
            return Planted(told=told, cwd=opened)
        if not hasattr(os, FLAGS[how]):
            raise Unplantable(f"no {FLAGS[how]} here")
        self.descriptor = os.open(opened, getattr(os, FLAGS[how]) | os.O_DIRECTORY | os.O_CLOEXEC)
        return Planted(told=told, descriptors=(self.descriptor,))

    def look(self, attempted: Attempted | None) -> Sighting:
        """The canary came back, or stands in a new file."""
        if self.directory is None:
            return Nothing()
        token = self.ground.token
        if self.act == "read":
            read = attempted and isinstance(attempted.said, Acted) and token in attempted.said.trace
            how = "the content of a file in the caller's directory came back"
            return Seen(how=how) if read else Nothing()
        return Seen(how="a new file stands in the caller's directory") if self._left(token) else Nothing()

    def _left(self, token: str) -> bool:
        assert self.directory  # noqa: S101 - the caller has asked
        try:
            file = os.open(self.directory / self.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            return token.encode() in os.read(file, 256)
        finally:
            os.close(file)

    def check(self) -> str:
        """The planted file can still be read; where one is to be made, ours is seen."""
        if self.directory is None:
            return "no directory"
        if self.act == "read":
            return "" if self._left(self.ground.token) else f"the file in {self.directory} is gone"
        try:
            ours = self.ground.file(self.directory / self.name, self.mark)
            seen = self._left(self.mark)
            ours.unlink()
        except OSError as error:
            return f"nothing can be made in {self.directory}: {error.strerror}"
        return "" if seen else f"a new file in {self.directory} goes unseen"

    def close(self) -> None:
        """Close and take away the directory."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        if self.directory:
            self.ground.remove(self.directory)
