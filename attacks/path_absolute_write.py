"""Change a file outside the workspace by its absolute path, by one operation.

After every act the path is looked at afresh: a sandbox may take the write into a copy of its
own (tmpfs, overlay), and what is found again here but not outside was held.
Source: Kilo-Org/kilocode#11596, openai/codex#24214, anthropics/claude-code#81157.
"""

import mmap
import os


def _write(target, path, flags):
    target.step("open")
    descriptor = os.open(path, flags, 0o666)
    target.step("write")
    os.write(descriptor, target.token.encode())
    os.close(descriptor)
    return path


def create(target):
    """A new file, by O_CREAT and O_EXCL."""
    return _write(target, target.new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def overwrite(target):
    """The first bytes of an existing file."""
    return _write(target, target.path, os.O_WRONLY)


def append(target):
    """The end of an existing file, which is a log's usual right."""
    return _write(target, target.path, os.O_WRONLY | os.O_APPEND)


def truncate(target):
    """An existing file cut to nothing by open() itself, then written."""
    return _write(target, target.path, os.O_WRONLY | os.O_TRUNC)


def store(target):
    """Memory that is shared with the file: no write() is ever called."""
    target.step("open")
    descriptor = os.open(target.path, os.O_RDWR)
    target.step("mmap")
    with mmap.mmap(descriptor, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as memory:
        memory[: len(target.token)] = target.token.encode()
        memory.flush()
    os.close(descriptor)
    return target.path


def rename(target):
    """A file of the workspace moved over the one outside."""
    target.step("prepare")
    own = os.path.join(target.scratch, "own")
    with open(own, "w") as file:
        file.write(target.token)
    target.step("rename")
    os.rename(own, target.path)
    return target.path


def unlink(target):
    """The file taken away."""
    target.step("unlink")
    os.unlink(target.path)
    return "" if os.path.lexists(target.path) else target.inside("the file is gone here")


def mkdir(target):
    """A new directory beside the file."""
    target.step("mkdir")
    os.mkdir(target.new)
    return target.inside("the new directory is here") if os.path.isdir(target.new) else ""


OPERATIONS = {
    each.__name__: each for each in (create, overwrite, append, truncate, store, rename, unlink, mkdir)
}


def attempt(target):
    """The row's operation; where it wrote, a fresh look."""
    written = OPERATIONS[target.operation](target)
    if not isinstance(written, str) or not written:
        return written
    with open(written) as file:
        found = file.read(4096)
    return target.inside("the token is in that file here") if target.token in found else found
