"""A victim process outside: same account, open to debuggers, harmless.

`plant.holds` says in what alone the canary is, for rows that read it: cell (memory), environ, argv,
file (in its working directory), descriptor (an open file without a name), mapping (the name of a
mapped file), limits, pidfd. `plant.takes` says by what a change is seen, for rows that do something
to it: one of victim_signs.SIGNS.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching
from matrix.witnesses.victim_process import Victim
from matrix.witnesses.victim_signs import SIGNS, File, Sign

GIVEN = {"cell", "environ", "argv", "descriptor", "mapping"}  # to the victim itself when it starts
SIZE = 40  # bytes of the cell that attacks read and write, whole words
OUTSIDE = "outside.txt"


class Witness(Watching):
    """Starts one victim for each arm."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.holds = str(ground.case.plant.get("holds", ""))
        self.takes = str(ground.case.plant.get("takes", ""))
        self.canary = ground.token
        self.victim: Victim | None = None
        self.sign: Sign | None = None
        self.folder: Path | None = None

    def plant(self) -> Planted:
        """Start the victim; the attack is told whom to look for, and never the canary that it must read."""
        self.folder = self.ground.place(self.ground.case.place)
        path = self.ground.file(self.folder / OUTSIDE, self.canary if self.holds == "file" else "as planted")
        given = {self.holds: self.canary} if self.holds in GIVEN else {}
        victim = self.victim = Victim(self.ground, self.folder, given)
        if self.holds == "limits":
            self.canary = "{} {}".format(*victim.locks)
        elif self.holds == "pidfd":
            self.canary = f"pidfd of inode {pidfd_inode(victim.pid)}"
        if self.takes:
            self.sign = SIGNS[self.takes](victim, self.ground.token, path)
        return Planted(told={**self._told(victim, path), **(self.sign.told if self.sign else {})})

    def _told(self, victim: Victim, path: Path) -> Mapping[str, Any]:
        return {
            "pid": victim.pid,
            "marker": victim.marker,
            "limit": victim.limit,
            "address": victim.address,
            "size": SIZE,
            "descriptor": victim.descriptor,
            "path": str(path),
            "name": path.name,
        }

    def look(self, attempted: Attempted | None) -> Sighting:
        """The trace has the canary, or the victim shows what was done to it."""
        if self.sign is not None:
            return Seen(how=how) if (how := self.sign.seen()) else Nothing()
        if attempted is not None and isinstance(said := attempted.said, Acted) and self.canary in said.trace:
            return Seen(how=f"the attack read the canary from the victim's {self.holds}")
        return Nothing()

    def check(self) -> str:
        """The victim lives and still holds the canary, or would still tell of a change."""
        if self.victim is None:
            return "there is no victim"
        if gone := self.victim.gone():
            return gone
        if self.sign is not None:
            return self.sign.prove()
        return (
            ""
            if self._held() == self.canary
            else f"the victim no longer holds the canary in its {self.holds}"
        )

    def _held(self) -> str:
        """The canary as it is now where the attack had to read it."""
        if self.victim is None or self.folder is None:
            return ""
        match self.holds:
            case "file":
                return (self.folder / OUTSIDE).read_text()
            case "pidfd":
                return f"pidfd of inode {pidfd_inode(self.victim.pid)}"
            case held:
                return self.victim.ask("show").get(held, "")

    def close(self) -> None:
        """End the victim and take its directory away."""
        if self.victim is not None:
            self.victim.close()
        if isinstance(self.sign, File):
            self.sign.file.close()
        if self.folder is not None:
            self.ground.remove(self.folder)


def pidfd_inode(pid: int) -> int:
    """The inode number of a process's pidfd, its own from Linux 6.9. Unplantable where all share one."""
    if sys.platform != "linux":
        raise Unplantable("there are no pidfds")

    def inode(of: int) -> int:
        descriptor = os.pidfd_open(of)
        try:
            return os.fstat(descriptor).st_ino
        finally:
            os.close(descriptor)

    if inode(pid) == inode(os.getpid()):
        raise Unplantable(
            "all pidfds have the same inode number before Linux 6.9, so that none names its process"
        )
    return inode(pid)
