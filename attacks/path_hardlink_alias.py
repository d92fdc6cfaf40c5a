"""Reach an outside or denied file through a hard link that lies in the workspace.

A hard link is the same file under a second name, and no path leads from one to the other. It may
have been there before the start ("planted"), or be made inside: by link() from the name, or from
an open descriptor by way of /proc/self/fd.
Source: multikernel/sandlock#179, DataDog/rshell#595, nubjs/nub#449, man 2 linkat.
"""

import os


def from_name(target, own):
    """link() from the outside name."""
    os.link(target.path, own)


def from_descriptor(target, own):
    """linkat() with AT_SYMLINK_FOLLOW from the magic link of an open file."""
    descriptor = os.open(target.path, os.O_RDONLY)
    links = os.open("/proc/self/fd", os.O_RDONLY)  # with a directory given, Python calls linkat
    os.link(str(descriptor), own, src_dir_fd=links, follow_symlinks=True)
    os.close(links)
    os.close(descriptor)


WAYS = {"name": from_name, "descriptor": from_descriptor}


def attempt(target):
    """Get hold of a second name, then read or write through it."""
    where = os.path.join(target.scratch, "own")
    if target.way == "planted":
        where = target.alias
    else:
        target.step("link")
        WAYS[target.way](target, where)
    target.step("open")
    with open(where, "r+" if target.act == "write" else "r") as file:
        if target.act == "read":
            return file.read(4096) or target.absent("the file at that name is empty")
        file.write(target.token)
    with open(where) as file:
        found = file.read(4096)
    return target.inside("the token is in the linked file here") if target.token in found else found
