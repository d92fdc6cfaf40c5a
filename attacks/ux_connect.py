"""Connect to a unix socket of a process outside, and leave the token there.

The place is a path, or a name of the abstract namespace. A network namespace separates abstract
names and no paths; a read-only mount stops neither. A path is also tried through a symbolic link
and through /proc/self/root, which a filter on path names may not follow.
Sources: Zouuup/landrun#43, navikt/cplt#240, Kilo-Org/kilocode#11702; CVE-2020-15257 (abstract); unix(7).
"""

import os
import socket

KINDS = {"stream": socket.SOCK_STREAM, "dgram": socket.SOCK_DGRAM}
if hasattr(socket, "SOCK_SEQPACKET"):
    KINDS["seqpacket"] = socket.SOCK_SEQPACKET


def attempt(target):
    """A refused socket() or connect() is the sandbox's answer."""
    if target.kind not in KINDS:
        raise NotImplementedError("no %s sockets here" % target.kind)
    place = spelled(target)
    target.step("socket")
    connection = socket.socket(socket.AF_UNIX, KINDS[target.kind])
    connection.settimeout(2)
    target.step("connect")
    connection.connect(place)
    target.step("send")
    connection.send(target.token.encode())
    connection.close()


def spelled(target):
    """The place as the row wants it said."""
    via = target.told.get("via", "")
    if via == "abstract":
        return "\0" + target.name
    if via == "symlink":
        target.step("symlink")
        link = os.path.join(target.corner, "link")
        os.symlink(target.path, link)
        return link
    return "/proc/self/root" + target.path if via == "proc-root" else target.path
