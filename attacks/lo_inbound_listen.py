"""Open a TCP listener inside and leave the token with whoever connects from outside.

The harness connects in at an address of the host and the told port. Where it finds nobody there, a
client of our own proves the listener: then it lives in a network of the sandbox's own.
Sources: coder/boundary#210, landlock-lsm/linux#15, Zouuup/landrun#59.
"""

import socket

import syscalls


def attempt(target):
    """A refused socket(), bind() or listen() is the sandbox's answer."""
    family = socket.AF_INET6 if ":" in target.bind else socket.AF_INET
    target.step("socket")
    listener = socket.socket(family, socket.SOCK_STREAM)
    target.step("bind")
    listener.bind((target.bind, target.port))
    target.step("listen")
    listener.listen(8)
    target.step("meet")
    target.meet()
    own = client(family, (target.own, target.port))
    listener.settimeout(0.5)
    # The queue is in order of arrival: the harness's client, where there is one, comes first.
    target.step("accept")
    try:
        guest, _ = listener.accept()
    except socket.timeout:
        if own is None and target.platform == "linux" and syscalls.is_down(listener, "lo"):
            return target.inside("nobody can come: the loopback here is down, the host's is not")
        raise RuntimeError("nobody came to the listener, not even our own client") from None
    guest.sendall(target.token.encode())
    if own is None:
        return "the first in the queue was somebody else"
    own.settimeout(0.1)
    try:
        answer = own.recv(4096)
    except OSError:
        return "the first in the queue was somebody else"
    return target.inside("our own client was the first and only one") if answer else None


def client(family, place):
    """A client of our own, connected; None where that is refused: others may still come from outside."""
    own = socket.socket(family, socket.SOCK_STREAM)
    own.settimeout(0.5)
    try:
        own.connect(place)
    except OSError:
        return None
    return own
