"""Addresses and routes of this network namespace, asked of the kernel.

Sources: rtnetlink(7), netlink(7).
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct

_RTM_NEWADDR, _RTM_DELADDR, _RTM_NEWROUTE, _NLMSG_ERROR = 20, 21, 24, 2
_NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_CREATE = 1, 4, 0x400
_IFA_ADDRESS, _IFA_LOCAL, _IFA_F_NODAD = 1, 2, 2
_RTA_DST, _RTA_OIF = 1, 4
_RT_TABLE_LOCAL, _RTPROT_STATIC, _RTN_LOCAL = 255, 4, 2
_RT_SCOPE_UNIVERSE, _RT_SCOPE_HOST = 0, 254


def add_address(address: str, prefix: int, interface: str = "lo") -> None:
    """Give an interface of this network namespace an address. Raises OSError."""
    _change_address(_RTM_NEWADDR, address, prefix, interface)


def drop_address(address: str, prefix: int, interface: str = "lo") -> None:
    """Take an address from an interface of this network namespace. Raises OSError."""
    _change_address(_RTM_DELADDR, address, prefix, interface)


def route_here(address: str) -> None:
    """What is sent to an address arrives here, without any interface having it. Raises OSError.

    A route of the kind that the kernel keeps for its own addresses. One that is there already stays.
    """
    packed = ipaddress.ip_address(address).packed
    family, scope = (
        (socket.AF_INET6, _RT_SCOPE_UNIVERSE) if len(packed) == 16 else (socket.AF_INET, _RT_SCOPE_HOST)  # noqa: PLR2004 - bytes of IPv6
    )
    body = struct.pack(
        "=8BI", family, 8 * len(packed), 0, 0, _RT_TABLE_LOCAL, _RTPROT_STATIC, scope, _RTN_LOCAL, 0
    )
    body += _attribute(_RTA_DST, packed) + _attribute(
        _RTA_OIF, struct.pack("=I", socket.if_nametoindex("lo"))
    )
    try:
        _ask(_RTM_NEWROUTE, _NLM_F_CREATE, body, address)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise


def _change_address(request: int, address: str, prefix: int, interface: str) -> None:
    packed = ipaddress.ip_address(address).packed
    family = socket.AF_INET6 if len(packed) == 16 else socket.AF_INET  # noqa: PLR2004 - bytes of IPv6
    body = struct.pack("=BBBBi", family, prefix, _IFA_F_NODAD, 0, socket.if_nametoindex(interface))
    body += _attribute(_IFA_LOCAL, packed) + _attribute(_IFA_ADDRESS, packed)
    _ask(request, _NLM_F_CREATE if request == _RTM_NEWADDR else 0, body, address)


def _attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data


def _ask(request: int, flags: int, body: bytes, about: str) -> None:
    """Send one request and wait for its acknowledgement. Raises OSError with what the kernel says."""
    header = struct.pack("=IHHII", 16 + len(body), request, _NLM_F_REQUEST | _NLM_F_ACK | flags, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.settimeout(2)
        netlink.send(header + body)
        _, kind, _, _, _, code = struct.unpack_from("=IHHIIi", netlink.recv(4096))
    if kind == _NLMSG_ERROR and code:
        raise OSError(-code, os.strerror(-code), about)
