"""A proxy of our own that answers as told and notes what it hears; how attacks are let loose on it."""

import contextlib
import socket
import threading

from attacks.tests.inside import TOKEN, as_if_it_ended, load

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\narrived"
OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"
NO = b"HTTP/1.1 403 Forbidden: private\r\nX-Denial-Kind: private\r\nContent-Length: 4\r\n\r\nnope"


class Proxy:
    """Answers each request head by `answer(head)`: bytes, or b"" to hang up, or None to say nothing."""

    def __init__(self, answer=lambda _: OPEN):
        self.answer, self.asked, self.heard, self.guests, self.after = answer, [], b"", 0, None
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                guest, _ = self.listener.accept()
                self.guests += 1
                threading.Thread(target=self.serve, args=(guest,), daemon=True).start()

    def serve(self, guest):
        held = b""
        with guest, contextlib.suppress(OSError):
            while data := guest.recv(65536):
                held += data
                self.heard += data
                while b"\r\n\r\n" in held:
                    head, _, held = held.partition(b"\r\n\r\n")
                    self.asked.append(head)
                    said = self.answer(head)
                    if said == b"":
                        return
                    guest.sendall(said or b"")
                    if self.after and head.startswith(b"CONNECT"):
                        self.after(guest)
                        return


def ask(*requests, attack="proxy_request"):
    """What the attack says of these requests: each (step, request) or (step, request, keep)."""
    told = [{"step": step, "request": request, "keep": bool(keep)} for step, request, *keep in requests]
    named = []
    with as_if_it_ended():
        given = load("launcher").Target({"token": TOKEN, "steps": told}, lambda _, step: named.append(step))
        said, facts = load("launcher").judge_nothing(load(attack).attempt, given)
        del given
    return said, facts, named
