"""Overhear a datagram that only travels between addresses of the host.

A packet socket takes every frame of the link. The harness sends its datagram to the told port once
this socket listens; a datagram of our own to the same port proves that the socket hears anything.
Sources: moby/moby#31270, cdk-team/CDK network_namespace.go; packet(7), ETH_P_ALL 3.
"""

import os
import socket
import struct
import time

import syscalls

ETH_P_ALL = 3
PORT, PAYLOAD = slice(36, 38), slice(42, None)  # of a frame with 14 + 20 + 8 bytes of headers


def attempt(target):
    """A refused socket() or bind() is the sandbox's answer."""
    target.step("socket")
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    target.step("bind")
    link.bind((target.interface, ETH_P_ALL))
    target.step("meet")
    target.meet()
    own = b"own" + os.urandom(12).hex().encode()
    said = speak(own, target.port)
    heard = payloads(link, struct.pack("!H", target.port), own)
    if not heard and said and syscalls.is_down(link, target.interface):
        return target.absent("on %s, which is down here and up on the host" % target.interface)
    if not heard:
        raise RuntimeError(
            "nothing was overheard, not even a datagram of our own: %s" % (said or "it was sent")
        )
    if set(heard) == {own}:
        return target.absent("on %s, where our own datagram was overheard" % target.interface)
    return b" ".join(heard)


def speak(own, port):
    """Send our own; why that was refused, which says nothing of what could be overheard."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(own, ("127.0.0.1", port))
    except OSError as error:
        return str(error)
    return ""


def payloads(link, port, last):
    """What was sent to that port, up to and with our own."""
    heard, end = [], time.monotonic() + 0.5
    link.settimeout(0.5)
    while last not in heard and time.monotonic() < end:
        try:
            frame = link.recv(65535)
        except OSError:
            break
        if frame[PORT] == port:
            heard.append(frame[PAYLOAD])
    return heard
