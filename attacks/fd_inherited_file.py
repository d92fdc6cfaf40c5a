"""Use an open file that the launcher's caller had open and the sandbox did not close.

It is an outside file that has no name any more, a memory file, or a pipe. Neither number nor
content is told, only the mark that its content begins with: a stranger's open file is left alone.
"read" gives back the content, "write" adds the token to it, "flag" sets O_NONBLOCK and "seek" moves
the position, both for everybody who shares the open file.
Source: CVE-2024-21626 (runc); Kilo-Org/kilocode#11596; anthropics/sandbox-runtime pass-fd.test.ts.
"""

import fcntl
import os
import select
import stat

import syscalls

KINDS = {"file": stat.S_ISREG, "pipe": stat.S_ISFIFO}
ACCESS = 3  # the bits of the flags that say read, write or both


def content(kind, number):
    """What can be read there at once; nothing where it is open for writing alone."""
    if fcntl.fcntl(number, fcntl.F_GETFL) & ACCESS == os.O_WRONLY:
        return b""
    if kind == "file":
        return os.pread(number, 4096, 0)
    ready = select.poll()  # select(2) knows numbers below 1024 alone
    ready.register(number, select.POLLIN)
    return os.read(number, 4096) if ready.poll(0) else b""


def find(target):
    """(number, content) of the marked file, or None; the last refusal where nothing could be read."""
    refusal = None
    for number, is_ in syscalls.inherited():
        if KINDS[target.kind](is_.st_mode):
            try:
                text = content(target.kind, number)
            except OSError as error:
                refusal = error
                continue
            if text.startswith(target.mark.encode()):
                return number, text
    if refusal and target.act != "read":
        raise RuntimeError("the look was refused, which says nothing of the act: %s" % refusal)
    if refusal:
        raise refusal
    return None


def attempt(target):
    """Look at every open file from 3 to 8191; the marked one not among them means it was closed."""
    target.step("look")
    found = find(target)
    if found is None:
        return target.absent("descriptors 3 to 8191: the caller's is none of them")
    number, text = found
    target.step(target.act)
    if target.act == "write":
        os.pwrite(number, target.token.encode(), len(text))
    elif target.act == "flag":
        fcntl.fcntl(number, fcntl.F_SETFL, fcntl.fcntl(number, fcntl.F_GETFL) | os.O_NONBLOCK)
    elif target.act == "seek":
        os.lseek(number, target.position, os.SEEK_SET)
    return text
