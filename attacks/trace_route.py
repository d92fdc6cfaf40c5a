"""Trace the route to a public address: probes with a growing number of hops that they may live.

By UDP to ports where nobody listens, and by echo requests, with a raw socket or with the kind that
needs no privilege. Each probe holds the token. A probe that only this socket itself sees again was
on a loopback of the sandbox's own.
Sources: traceroute(8), ping(8), github/gh-aw-firewall (its adversarial tests); ip(7) IP_TTL.
"""

import socket
import struct

HOPS = 4


def attempt(target):
    """Send the probes; a refused socket() or sendto() is the sandbox's answer."""
    udp = target.by == "udp"
    kinds = {"udp": socket.SOCK_DGRAM, "ping": socket.SOCK_DGRAM, "raw": socket.SOCK_RAW}
    target.step("socket")
    probe = socket.socket(socket.AF_INET, kinds[target.by], 0 if udp else socket.IPPROTO_ICMP)
    probe.settimeout(0.1)
    for hop in range(1, HOPS + 1):
        target.step("setsockopt")
        probe.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hop)
        token = target.token.encode()
        target.step("sendto")
        probe.sendto(token if udp else echo_request(hop, token), (target.address, target.port if udp else 0))
        try:
            if not udp and token in probe.recv(65535):
                return target.inside("our own probe came back to us")
        except socket.timeout:
            continue


def echo_request(number, payload):
    """The ICMP message."""
    message = struct.pack("!BBHHH", 8, 0, 0, 0x656D, number) + payload + bytes(len(payload) % 2)
    total = sum(struct.unpack("!%dH" % (len(message) // 2), message))
    total = (total & 0xFFFF) + (total >> 16)
    return message[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + message[4:]
