"""Create an AF_VSOCK socket, and nothing more.

Such sockets reach the hypervisor's host and lie outside network namespaces before Linux 7.0, so a
sandbox has to refuse them by themselves. The harness takes the descriptor out of this process and
looks at its domain. The socket is never connected, to any address.
Sources: moby/moby#44562, podman-container-tools/container-libs#575; vsock(7), AF_VSOCK 40.
"""

import socket

AF_VSOCK = 40


def attempt(target):
    """A refused socket() is the sandbox's answer."""
    target.step("socket")
    created = socket.socket(AF_VSOCK, socket.SOCK_STREAM)
    target.step("meet")
    target.meet()
    return "socket %d" % created.fileno()
