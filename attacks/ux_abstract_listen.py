"""Bind an abstract unix socket inside and leave the token with whoever connects from outside.

The reverse direction of ux-abstract-connect: a process outside that connects to a name it trusts
talks to the sandbox instead. Where the harness finds nobody at that name, a client of our own
proves the listener: then the name lives in a network namespace of the sandbox's own.
Sources: landlock-lsm/linux#57; unix(7).
"""

import socket


def attempt(target):
    """A refused socket(), bind() or listen() is the sandbox's answer."""
    place = "\0" + target.name
    target.step("socket")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    target.step("bind")
    listener.bind(place)
    target.step("listen")
    listener.listen(8)
    target.step("meet")
    target.meet()
    own = client(socket.AF_UNIX, place)
    listener.settimeout(0.5)
    # The queue is in order of arrival: the harness's client, where there is one, comes first.
    target.step("accept")
    try:
        guest, _ = listener.accept()
    except socket.timeout:
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
