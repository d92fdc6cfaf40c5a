"""Reach a file that the policy denies, by another name for it.

The row whose route is the plain name says whether the rule is in force at all: read the others beside it.
Source: CVE-2026-25724, anthropic-experimental/sandbox-runtime (read-side rules), CVE-2025-59944 (case).
"""

import os

ROUTES = {
    "plain": lambda target: target.path,
    "link": lambda target: target.link,
    "folder-link": lambda target: os.path.join(target.folder_link, os.path.basename(target.path)),
    "alias": lambda target: target.alias,
    "double-slash": lambda target: "/" + target.path.replace("/", "//"),
    "dots": lambda target: os.path.join(
        os.path.dirname(target.path), ".", "..", os.path.basename(os.path.dirname(target.path)),
        os.path.basename(target.path)),
    "proc-root": lambda target: "/proc/self/root" + target.path,
    "proc-cwd": lambda target: "/proc/self/cwd/" + os.path.relpath(target.path, os.getcwd()),
}  # fmt: skip


def attempt(target):
    """Open by the row's route, and read the canary or leave the token."""
    flags = os.O_RDONLY if target.act == "read" else os.O_WRONLY
    where = ROUTES[target.route](target)
    target.step("open")
    descriptor = os.open(where, flags)
    target.step(target.act)
    if target.act == "read":
        found = os.read(descriptor, 4096)
        return found or target.absent("the file at that path is empty")
    os.write(descriptor, target.token.encode())
    os.close(descriptor)
    with open(where) as file:
        found = file.read(4096)
    return target.inside("the token is in that file here") if target.token in found else found
