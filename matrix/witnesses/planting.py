"""Plants one side of a filesystem row: the side that is forbidden, and its twin in the workspace.

Both sides look alike, so that the twin makes the same call with the same arguments. What a row asks
for stands in its `plant`:

`where`: "outside" (a fresh directory in the row's place, the default), "sibling" (beside the
workspace, with the workspace's name as the beginning of its own), "top" (a new name right in the
place), "denied" (below the workspace, for the policy to deny).
`spelled`: "dotdot" goes through the workspace and up again.
`alias`: what second name there is: "symlink" (to the file and to its directory), "hardlink",
"case", "normal-form", "firmlink", "inode", "bind".
"""

from __future__ import annotations

import os
import subprocess
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matrix.witnesses.contract import Ground, Unplantable, fresh_token

NAME = "File"
ACCENTED = "Fil\u00e9"  # one code point; its other normal form has two


@dataclass(frozen=True, kw_only=True)
class Side:
    """One planted side, and what the attack is told of it."""

    file: Path  # the object of the attack; for a row about an absent name it does not exist
    folder: Path  # its directory
    scratch: Path  # a directory of the workspace where the attack may make things
    told: dict[str, Any] = field(default_factory=dict[str, Any])
    rubbish: list[Path] = field(default_factory=list[Path])  # outside the workspace, to be removed
    mounts: list[Path] = field(default_factory=list[Path])  # to be unmounted


def forbidden(ground: Ground) -> Side:
    """The side that the sandbox must keep the attack away from."""
    where = ground.case.plant.get("where", "outside")
    folder = _folder(ground, where)
    file = folder / _name(ground)
    if where == "top":
        file = folder.parent / f".escape-matrix-{fresh_token()}"
        ground.record("path", str(file))
    side = _side(ground, file, ground.folder(ground.corner / "scratch"))
    side.rubbish.extend([] if where == "denied" else [file, folder])
    return side


def granted(ground: Ground) -> Side:
    """The same in the workspace, where the policy grants it: the twin."""
    denied = ground.case.plant.get("where") == "denied"
    folder = _nested(ground, ground.corner / "twin") if denied else ground.folder(ground.corner / "twin")
    return _side(ground, folder / _name(ground), ground.folder(ground.corner / "twin-scratch"))


def _name(ground: Ground) -> str:
    return (
        ACCENTED
        if ground.case.plant.get("alias") == "normal-form"
        else str(ground.case.plant.get("name", NAME))
    )


def _folder(ground: Ground, where: str) -> Path:
    match where:
        case "outside" | "top":
            return ground.place(ground.case.place)
        case "sibling":
            beside = ground.workspace.with_name(ground.workspace.name + "-evil")
            return ground.folder(ground.folder(beside) / ground.corner.name)
        case "denied":
            return _nested(ground, ground.corner / "denied")
        case _:
            raise ValueError(f"{ground.case.id}: plant.where is {where!r}")


def _nested(ground: Ground, folder: Path) -> Path:
    """A directory with ancestors that an attack may try to move."""
    for each in (folder, folder / "a", folder / "a" / "b"):
        ground.folder(each)
    return folder / "a" / "b"


def _side(ground: Ground, file: Path, scratch: Path) -> Side:
    def spelled(path: Path) -> str:
        if ground.case.plant.get("spelled") != "dotdot":
            return str(path)
        return f"{ground.workspace}/../{os.path.relpath(path, ground.workspace.parent)}"

    absent = ground.case.plant.get("object") == "absent"
    told: dict[str, Any] = {
        "path": spelled(file),
        "folder": spelled(file.parent),
        "new": spelled(file if absent else file.parent / "new"),
        "scratch": str(scratch),
    }
    return Side(file=file, folder=file.parent, scratch=scratch, told=told)


def alias(ground: Ground, side: Side, *, twin: bool) -> None:
    """Give the planted file its second name, and tell it. Raises Unplantable where it has none here."""
    kind = ground.case.plant.get("alias")
    if kind is None:
        return
    if kind == "symlink":
        for name, to in (("link", side.file), ("folder_link", side.folder)):
            link = side.scratch / name
            link.symlink_to(to)
            side.told[name] = str(ground.own(link))
        return
    # A second mount lies outside the workspace, so it is not granted: its twin has the plain name.
    second = side.file if kind == "bind" and twin else _second_name(ground, side, kind)
    if not second.exists() or not second.samefile(side.file):
        raise Unplantable(f"here {kind} gives a file no second name")
    side.told["alias"] = str(second)


def _second_name(ground: Ground, side: Side, kind: str) -> Path:
    match kind:
        case "hardlink":
            second = side.scratch / "alias"
            try:
                second.hardlink_to(side.file)
            except OSError as error:
                raise Unplantable(f"cannot link into the workspace: {error.strerror}") from error
            return second
        case "case":
            return side.folder / side.file.name.swapcase()
        case "normal-form":
            return side.folder / unicodedata.normalize("NFD", side.file.name)
        case "firmlink":
            return Path(f"/System/Volumes/Data{side.file.resolve()}")
        case "inode":
            status = side.file.stat()
            return Path(f"/.vol/{status.st_dev}/{status.st_ino}")
        case "bind":
            return _bound(ground, side) / side.file.name
        case _:
            raise ValueError(f"{ground.case.id}: plant.alias is {kind!r}")


def _bound(ground: Ground, side: Side) -> Path:
    """The side's directory mounted a second time, outside the workspace."""
    mount = ground.place("beside")
    ground.record("mount", str(mount))
    side.mounts.append(mount)
    argv = ["mount", "--bind", str(side.folder), str(mount)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unplantable(f"cannot mount a directory twice: {done.stderr.strip()}")
    return mount


def take_away(ground: Ground, *sides: Side) -> None:
    """Remove what was planted outside the workspace; what is inside goes with it."""
    for side in sides:
        for mount in side.mounts:
            subprocess.run(["umount", str(mount)], capture_output=True, check=False)
            mount.rmdir()
        for path in side.rubbish:
            ground.remove(path)
