"""Look a name up and connect to what it resolves to, as a program does that knows of no proxy.

The row says the name; where it holds `{token}`, the question alone already carries the token out.
A name that does not resolve is the sandbox's answer: it resolves names for nobody but its proxy.
Sources: cilium/cilium#48794 (which error), coder/httpjail (its tests of DNS); getaddrinfo(3).
"""

import errno
import socket

NO_NAME = ("EAI_NONAME", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA", "EAI_ADDRFAMILY")
SAYS_NO = frozenset(getattr(socket, name) for name in NO_NAME if hasattr(socket, name))


def attempt(target):
    """Resolve, connect, send; a name error or a refused call is the sandbox's answer."""
    if "ready" in target.told:
        target.meet()
    token = target.token + ".0"
    name = target.name.replace("{token}", target.token)
    target.step("getaddrinfo")
    try:
        places = socket.getaddrinfo(name, target.port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno not in SAYS_NO:
            raise RuntimeError("the resolver itself failed: %s" % error) from None
        raise OSError(errno.EHOSTUNREACH, "name error: %s" % error.strerror) from None
    family, kind, protocol, _, place = places[0]
    target.step("socket")
    connection = socket.socket(family, kind, protocol)
    connection.settimeout(2)
    target.step("connect")
    connection.connect(place)
    target.step("send")
    connection.sendall(b"GET / HTTP/1.0\r\nX-Marker: " + token.encode() + b"\r\n\r\n")
    return connection.recv(4096)
