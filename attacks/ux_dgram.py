"""Leave a datagram at a unix socket of a process outside, without an ordinary connected socket.

Either by sendto() on an unconnected one, or by connecting one end of a socketpair() anew: a filter
that only refuses socket() does not see the pair.
Sources: LadybirdBrowser/ladybird#12146, trpc-group/trpc-agent-go#2426; unix(7).
"""

import socket


def attempt(target):
    """A refused socket(), socketpair(), connect() or send is the sandbox's answer."""
    token = target.token.encode()
    if target.call == "socketpair":
        target.step("socketpair")
        ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        target.step("connect")
        ours.connect(target.path)
        target.step("send")
        ours.send(token)
    else:
        target.step("socket")
        ours = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        target.step("sendto")
        ours.sendto(token, target.path)
    ours.close()
