"""List the sockets of the host through netlink (SOCK_DIAG_BY_FAMILY).

The harness holds a socket whose name or address nobody was told. The attack opens one of its own
kind first: a listing that shows this one and no other belongs to a network of the sandbox's own.
Sources: sock_diag(7); multikernel/sandlock test_netlink_virt.rs.
"""

import os
import socket
import struct

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, REQUEST_DUMP = 4, 20, 0x301
NLMSG_ERROR, NLMSG_DONE, LISTEN = 2, 3, 10
UDIAG_SHOW_NAME, UNIX_DIAG_NAME = 1, 0


def attempt(target):
    """A refused netlink socket, or a kernel that answers with an error, is the sandbox's answer."""
    unix = target.table == "unix"
    target.step("socket")
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
    netlink.settimeout(2)
    body = (
        struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, UDIAG_SHOW_NAME, 0, 0)
        if unix
        else struct.pack("=BBBBI48x", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 1 << LISTEN)
    )
    _own, mine = listener(unix)
    target.step("SOCK_DIAG")
    netlink.send(struct.pack("=IHHII", 16 + len(body), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 1, 0) + body)
    read = unix_name if unix else tcp_address
    names = [name for name in map(read, messages(netlink)) if name]
    if names == [mine]:
        return target.absent("the socket dump, which shows our own and no other")
    return "\n".join(names)


def listener(unix):
    """A socket of our own that the listing must show, and as what. It is open as long as it is kept."""
    try:
        own = socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_STREAM)
        if unix:
            own.bind("\0own" + os.urandom(8).hex())
        own.listen(1)  # without bind() the kernel picks a port
        mine = own.getsockname()[1:].decode() if unix else "0.0.0.0:%d" % own.getsockname()[1]
    except OSError as error:
        raise NotImplementedError("no listener of our own to look for in the list: %s" % error) from None
    return own, mine


def messages(netlink):
    """The bodies of all answers up to the end of the dump."""
    while True:
        data = netlink.recv(1 << 16)
        while data:
            length, kind = struct.unpack_from("=IH", data)
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                (code,) = struct.unpack_from("=i", data, 16)
                raise OSError(-code, os.strerror(-code))
            yield data[16:length]
            data = data[(length + 3) & ~3 :]


def unix_name(body):
    """The abstract name in a unix_diag_msg, empty for other sockets."""
    at = 16
    while at + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, at)
        value = body[at + 4 : at + length]
        if kind == UNIX_DIAG_NAME and value[:1] == b"\0":
            return value[1:].decode("latin-1")
        at += max(4, (length + 3) & ~3)
    return ""


def tcp_address(body):
    """The listening address in an inet_diag_msg."""
    (port,) = struct.unpack_from("!H", body, 4)
    return "%s:%d" % (socket.inet_ntoa(body[8:12]), port)
