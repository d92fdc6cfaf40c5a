"""Open a TCP listener inside and answer whoever connects from outside with the token.

The harness connects in at the told address and port. Where it finds nobody, the attack proves that
its listener works, by a client of its own: then it lives in a network of the sandbox's own.
Sources: coder/boundary#210, landlock-lsm/linux#15, Zouuup/landrun#59.
"""

import socket


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
    answer_all(listener, target.token.encode())
    client = socket.socket(family, socket.SOCK_STREAM)
    client.settimeout(0.5)
    target.step("own client")
    client.connect((target.address, target.port))
    answer_all(listener, target.token.encode())
    if client.recv(4096) == target.token.encode():
        return target.inside("our own client reached our listener, the harness's did not")


def answer_all(listener, token):
    """Give the token to everybody in the queue."""
    listener.setblocking(False)
    while True:
        try:
            guest, _ = listener.accept()
        except OSError:
            return
        guest.sendall(token)
        guest.close()
