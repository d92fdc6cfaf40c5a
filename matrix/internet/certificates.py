"""Certificates of the little internet: for whatever server name a client asks for, by one authority.

Sources: RFC 6066 3, RFC 5280 4.2.1.6.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable

import trustme

NOBODY = "nobody.test"
"""What a certificate is made out to where the name asked for cannot stand in one."""


class Certificates:
    """One authority, made afresh; its key is never written anywhere."""

    def __init__(self) -> None:
        self._authority = trustme.CA()
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()

    @property
    def ca(self) -> bytes:
        """The authority's own certificate, as PEM: who trusts it trusts every server here."""
        return self._authority.cert_pem.bytes()

    def context(self, address: str, heard: Callable[[str], None]) -> ssl.SSLContext:
        """How a server at that address speaks TLS; `heard` is told the name that the client asked for."""
        context = self._fresh(address)

        def named(secure: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            if name is not None:
                heard(name)
                secure.context = self._for(name)

        context.sni_callback = named
        return context

    def _for(self, name: str) -> ssl.SSLContext:
        with self._lock:
            if name not in self._contexts:
                self._contexts[name] = self._fresh(name)
            return self._contexts[name]

    def _fresh(self, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        try:
            made = self._authority.issue_cert(name)
        except (ValueError, UnicodeError):
            made = self._authority.issue_cert(NOBODY)
        with made.private_key_and_cert_chain_pem.tempfile() as chain:
            context.load_cert_chain(chain)
        return context
