"""What the tests of the stage play on it; importable, so that a child in a world can do it too."""

import contextlib
import socket
import ssl
import time

from matrix.internet.stage import Stage, StageError
from matrix.scene import scene

TOKEN = "em" + "0" * 32
ROW = {
    "policy": {
        "manifest": ["wiki.test", "$PUB4_A:8443"], "tenant": ["[$ULA]"], "neighbour": {"tenant": ["x.test"]},
    },
    "answers": {"wiki.test": [{"A": ["$PRIV10"], "AAAA": ["$ULA", "$NAT64_10", "$COMPAT10", "$MAPPED10"]}]},
    "request": {"connect": "wiki.test:9443"},
    "expect": {"deny": "private"},
    "never_dial": ["$PRIV10", "$ULA", "$NAT64_10", "$COMPAT10", "$MAPPED10", "$UNSPEC4", "$THISNET", "$MC4"],
    "never_ask": ["Secret.test."],
    "serves": {"/moved": "302 http://$PUB4_B/", "/gone": "410 was $PRIV10"},
}  # fmt: skip
OTHER = {"answers": {"api.test": [{"A": ["$PUB4_A"]}]}, "request": {"connect": "api.test:443"}}
CLOSED = {
    "answers": {"api.test": [{"A": ["$PUB4_A", "$PUB4_B"], "AAAA": ["$PUB6_A", "$PUB6_B"]}]},
    "closed": ["$PUB4_A", "$PUB6_A"],
    "request": {"connect": "api.test:9"},
}


def dial(stage, address, port, data=b"", server_name=None):
    """What comes back from an address of the stage."""
    with contextlib.ExitStack() as ends:
        connection = ends.enter_context(socket.create_connection(stage.ground.way(address, port), 5))
        if server_name is not None:
            trusting = ssl.create_default_context(cadata=stage.ca.decode())
            connection = ends.enter_context(trusting.wrap_socket(connection, server_hostname=server_name))
        connection.sendall(data)
        return connection.recv(4096) if data else b""


def get(path="/", token=TOKEN):
    """A request that carries a canary."""
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nX-Marker: {token}\r\n\r\n".encode()


def settled(found, count):
    """The same, once so many are there: a connection is noted by another thread than ours."""
    until = time.monotonic() + 5
    while len(found()) < count and time.monotonic() < until:
        time.sleep(0.001)
    return found()


def refused(stage, address, port):
    """Whether nobody listens there."""
    try:
        dial(stage, address, port)
    except ConnectionRefusedError:
        return True
    return False


def play(in_world):
    """One row and what is seen of it."""
    with Stage(in_world=in_world) as stage:
        window = stage.begin(scene(ROW), TOKEN)
        answers = [
            dial(stage, "10.11.12.13", 80, get()),
            dial(stage, "64:ff9b::a0b:c0d", 9443, get(), server_name="wiki.test"),
            dial(stage, "0.0.0.0", 9443, b"anything else\n"),
            dial(stage, "fd12:3456:789a::5", 443),
        ]
        arrivals = settled(window.arrivals, 4)
        seen = [(each.address, each.port, TOKEN.encode() in each.data, each.sni) for each in arrivals]
        return answers, window.answer_token, seen, stage.proof(), len(window.arrivals()), window.egress()


def standing():
    """The process's own stage, and what it says the second time."""
    return Stage.standing() is Stage.standing(), Stage.standing().resolver


def elsewhere():
    """What a process is told that could be in a world."""
    try:
        Stage.standing()
    except StageError as error:
        return str(error)
    return ""


def shut_out(in_world):
    """Who refuses where a row wants refusal, and whether the next row finds all open again."""
    with Stage(in_world=in_world) as stage:
        stage.begin(scene(CLOSED), TOKEN)
        places = [("11.22.33.44", 9), ("11.22.33.55", 9), ("2600:ffff::44", 9), ("2600:ffff::55", 9)]
        closed = [refused(stage, *place) for place in places]
        proof = stage.proof()
        stage.begin(scene({**CLOSED, "closed": []}), TOKEN)
        return closed, proof, [refused(stage, *place) for place in places]


def late(in_world):
    """What counts for a row when its time is over, and for the next: (address, late) of each."""
    with Stage(in_world=in_world) as stage:
        first = stage.begin(scene(ROW), TOKEN)
        old = stage.ground.way("10.11.12.13", 80)
        second = stage.begin(scene({**OTHER, "never_dial": ["$PUB4_B"]}), "em" + "1" * 32)
        new = stage.ground.way("11.22.33.44", 443)
        others = get().replace(TOKEN.encode(), ("em" + "1" * 32).encode())
        for way, data in ((old, b""), (new, get()), (new, b""), (old, others)):
            with socket.create_connection(way, 5) as connection:
                connection.sendall(data)
                if data:
                    connection.recv(100)
        settled(second.arrivals, 4)
        return [[(each.address, each.late) for each in window.arrivals()] for window in (first, second)]


def past_the_listeners(in_world):
    """What is seen of dials to ports of nobody's and of datagrams, with the proof afterwards."""
    with Stage(in_world=in_world) as stage:
        window = stage.begin(scene(ROW), TOKEN)
        refusals = [refused(stage, address, 9999) for address in ("10.11.12.13", "fd12:3456:789a::5")]
        for family, address in (
            (socket.AF_INET, "10.11.12.13"),
            (socket.AF_INET6, "64:ff9b::a0b:c0d"),
            (socket.AF_INET, "127.0.0.1"),
        ):
            with socket.socket(family, socket.SOCK_DGRAM) as sender:
                sender.sendto(TOKEN.encode(), (address, 443))
        arrivals = settled(window.arrivals, 4)
        seen = [(each.address, each.port, each.data) for each in arrivals]
        return refusals, seen, stage.proof(), len(window.arrivals())
