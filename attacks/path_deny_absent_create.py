"""Create a protected name that did not exist when the sandbox started.

A mount protects what is there; a name that is missing at the start has nothing to mount over.
What is created so (a Git hook, an editor's tasks, an agent's settings) runs later, outside.
Source: CVE-2026-25725, anthropics/claude-code#86504.
"""

import os


def _file(path, token):
    with open(path, "w") as file:
        file.write(token)


def create(target):
    """The file itself, in a directory that is there."""
    target.step("create")
    _file(target.path, target.token)


def tree(target):
    """The directory with the file in it."""
    target.step("create")
    os.makedirs(target.path)
    _file(os.path.join(target.path, "file"), target.token)


def rename(target):
    """Another name first, then renamed into place."""
    target.step("prepare")
    own = os.path.join(target.scratch, "own")
    _file(own, target.token)
    target.step("create")
    os.rename(own, target.path)


def symlink(target):
    """A symbolic link in its place."""
    target.step("create")
    os.symlink(os.path.join(target.scratch, target.token), target.path)


def held_by(path):
    """All that the name shows now: a link's text, a file's content, or its directory's."""
    if os.path.islink(path):
        return os.readlink(path)
    where = os.path.join(path, "file") if os.path.isdir(path) else path
    with open(where) as file:
        return file.read(4096)


OPERATIONS = {each.__name__: each for each in (create, tree, rename, symlink)}


def attempt(target):
    """One way of creating it, then a fresh look."""
    OPERATIONS[target.operation](target)
    found = held_by(target.path)
    return target.inside("the name exists here") if target.token in found else found
