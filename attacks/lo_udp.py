"""Send a datagram to a UDP socket of the host's loopback.

That sending worked says only that it was queued. So the attack first opens a listener of its own on
the same address and port: next to the host's that is refused, in a network of the sandbox's own it
works, and a datagram that turns up there never left.
Sources: landlock-lsm/linux#10, netblue30/firejail#6077, trpc-group/trpc-agent-go#2426.
"""

import socket


def attempt(target):
    """Send by the row's call; a refused socket() or send is the sandbox's answer."""
    family = socket.AF_INET6 if ":" in target.address else socket.AF_INET
    place, token = (target.address, target.port), target.token.encode()
    inner = listener(family, place)
    target.step("socket")
    sender = socket.socket(family, socket.SOCK_DGRAM)
    if target.call == "connect":
        target.step("connect")
        sender.connect(place)
        target.step("send")
        sender.send(token)
    elif target.call == "sendmsg":
        target.step("sendmsg")
        sender.sendmsg([token], [], 0, place)
    else:
        target.step("sendto")
        sender.sendto(token, place)
    if inner and heard(inner) == token:
        return target.inside("our own listener on the same address and port received it")


def listener(family, place):
    """A socket of our own at that place, None where it is taken or refused."""
    try:
        inner = socket.socket(family, socket.SOCK_DGRAM)
        inner.settimeout(0.2)
        inner.bind(place)
    except OSError:
        return None
    return inner


def heard(inner):
    """The next datagram, empty when none came in time."""
    try:
        return inner.recv(4096)
    except OSError:
        return b""
