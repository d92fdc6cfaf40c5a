"""Use the working directory that the launcher was started in, which lies outside the workspace.

A launcher may take its caller's directory for a place that may be written, or leave the command
standing in it: every relative path then leads out without naming any directory.
Source: CVE-2025-59532, CVE-2024-21626.
"""

import os


def attempt(target):
    """Open by a relative name. The twin is told a directory of the workspace to stand in."""
    if target.stand:
        target.step("chdir")
        os.chdir(target.stand)
    target.step("open")
    descriptor = os.open(target.relative, os.O_RDONLY if target.act == "read" else os.O_WRONLY)
    target.step(target.act)
    if target.act == "read":
        return os.read(descriptor, 4096) or target.absent("the file of that name is empty")
    os.write(descriptor, target.token.encode())
    os.close(descriptor)
    with open(target.relative) as file:
        found = file.read(4096)
    return target.inside("the token is in that file here") if target.token in found else found
