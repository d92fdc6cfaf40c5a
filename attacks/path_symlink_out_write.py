"""Write through a symbolic link that lies in the workspace and leads outside.

The kernel follows the link at the moment of the call. "planted" uses a link that was there
before the start, "own" one made inside, "replaced" a file of the workspace that is renamed over
by such a link, and the "folder" ways go through a link to the directory.
Source: CVE-2026-39861, CVE-2025-53109.
"""

import os


def _own(target, name):
    link = os.path.join(target.scratch, name)
    os.symlink(target.path, link)
    return link


def _replaced(target):
    report = os.path.join(target.scratch, "report")
    with open(report, "w") as file:
        file.write("a report\n")
    os.rename(_own(target, "next"), report)
    return report


def _prepared(target):
    own = os.path.join(target.scratch, "own")
    with open(own, "w") as file:
        file.write(target.token)
    return own


WAYS = {
    "planted": lambda target: target.link,
    "own": lambda target: _own(target, "own"),
    "replaced": _replaced,
    "folder": lambda target: os.path.join(target.folder_link, os.path.basename(target.path)),
}


def attempt(target):
    """Open without O_CREAT, so that a link that leads nowhere inside is an answer and makes nothing."""
    target.step("prepare")
    if target.way == "folder-rename":
        own, where = _prepared(target), WAYS["folder"](target)
        target.step("rename")
        os.rename(own, where)
    else:
        where = WAYS[target.way](target)
        target.step("open")
        descriptor = os.open(where, os.O_WRONLY | os.O_TRUNC)
        target.step("write")
        os.write(descriptor, target.token.encode())
        os.close(descriptor)
    with open(where) as file:
        found = file.read(4096)
    return target.inside("the token is behind that link here") if target.token in found else found
