"""Connect by TCP Fast Open: the first datum and the connection in one sendto(), and no connect().

A filter on connect() alone does not see it.
Source: landlock-lsm/linux#41; tcp(7), MSG_FASTOPEN 0x20000000.
"""

import socket

MSG_FASTOPEN = 0x20000000


def attempt(target):
    """Send to an address on an unconnected stream socket."""
    if not target.platform.startswith("linux"):
        raise NotImplementedError("MSG_FASTOPEN is Linux's; macOS has connectx()")
    target.step("socket")
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    target.step("sendto")
    connection.sendto(target.token.encode(), MSG_FASTOPEN, (target.address, target.port))
    connection.close()
