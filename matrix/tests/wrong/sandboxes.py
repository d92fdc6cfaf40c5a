"""Sandboxes that are wrong around a proxy that is right."""

from __future__ import annotations

from matrix.tests.wrong.double import DOUBLES, Double

_ALL = (
    Double(
        name="host-net",
        does="Shares the node's network with the command.",
        flags=("--share-net",),
        escaped=("direct-tcp-v4", "direct-tcp-node-loopback", "client-curl-resolve"),
    ),
    Double(
        name="upper-only-env",
        does="Sets HTTP_PROXY and not http_proxy, the only one of the two that curl looks at.",
        flags=("--unsetenv", "http_proxy"),
        failed=("client-curl-http-lower",),
    ),
)
DOUBLES |= {double.name: double for double in _ALL}
