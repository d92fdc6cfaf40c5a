"""Give an interface of the host another address (RTM_NEWADDR, CAP_NET_ADMIN).

The address is from the prefix kept for documentation (2001:db8::/32) and holds the token's bits; the
harness takes it away again. Found among the addresses inside, where the harness does not see it, it
was given to an interface of the sandbox's own.
Sources: multikernel/sandlock test_netlink_virt.rs; rtnetlink(7).
"""

import os
import socket
import struct

RTM_NEWADDR, REQUEST_ACK_CREATE, NLMSG_ERROR = 20, 0x405, 2
IFA_ADDRESS, IFA_LOCAL, IFA_F_NODAD = 1, 2, 2


def attempt(target):
    """A refused socket(), or a kernel that answers with an error, is the sandbox's answer."""
    address = socket.inet_pton(socket.AF_INET6, target.address)
    target.step("socket")
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    netlink.settimeout(2)
    index = socket.if_nametoindex(target.interface)
    body = struct.pack("=BBBBi", socket.AF_INET6, 128, IFA_F_NODAD, 0, index)
    for kind in (IFA_LOCAL, IFA_ADDRESS):
        body += struct.pack("=HH", 20, kind) + address
    target.step("RTM_NEWADDR")
    netlink.send(struct.pack("=IHHII", 16 + len(body), RTM_NEWADDR, REQUEST_ACK_CREATE, 1, 0) + body)
    _, kind, _, _, _, code = struct.unpack_from("=IHHIIi", netlink.recv(4096))
    if kind == NLMSG_ERROR and code:
        raise OSError(-code, os.strerror(-code))
    target.step("look")
    with open("/proc/self/net/if_inet6") as addresses:
        if address.hex() in addresses.read():
            return target.inside("%s has the address here" % target.interface)
