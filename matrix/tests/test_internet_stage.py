"""The stage in both its forms: in a world, and as a table of detours."""

import re
import socket
import threading
import time

import dns.message
import dns.query
import pytest

from matrix import world
from matrix.internet import stage as module
from matrix.internet.ground import InTable
from matrix.internet.stage import Stage, StageError
from matrix.scene import scene
from matrix.tests import stage_samples
from matrix.tests.stage_samples import CLOSED, OTHER, ROW, TOKEN, dial, get, settled

FORMS = ["world", "table"]


@pytest.fixture(params=FORMS)
def act(request):
    """Do something on a stage of either form."""
    if request.param == "table":
        return lambda function: function(False)
    if isinstance(there := world.standing(), world.Impossible):
        pytest.skip(there.why)
    return lambda function: world.call(function, True)


@pytest.fixture
def table():
    """A stage in this process."""
    with Stage(in_world=False) as stage:
        yield stage


def test_what_is_dialled_arrives_where_it_was_dialled_and_is_answered(act):
    answers, token, seen, proof, count, egress = act(stage_samples.play)
    assert f"arrived 10.11.12.13 80 {token}".encode() in answers[0]
    assert f"arrived 64:ff9b::a0b:c0d 9443 {token}".encode() in answers[1]
    assert answers[2] == f"arrived 127.0.0.1 9443 {token}\r\n".encode()
    assert sorted(seen) == [
        ("10.11.12.13", 80, True, ""),
        ("127.0.0.1", 9443, False, ""),
        ("64:ff9b::a0b:c0d", 9443, True, "wiki.test"),
        ("fd12:3456:789a::5", 443, False, ""),
    ]
    assert proof == ""
    assert count == 4, "the proof's own dials are not noted"
    assert egress.manifest == ("wiki.test", "11.22.33.44:8443")
    assert egress.tenant == ("[fd12:3456:789a::5]",)
    assert egress.neighbour.tenant == ("x.test",)


def test_what_no_listener_sees_is_seen_in_a_world():
    if isinstance(there := world.standing(), world.Impossible):
        pytest.skip(there.why)
    refusals, seen, proof, count = world.call(stage_samples.past_the_listeners, True)
    assert refusals == [True, True]
    assert seen == [
        ("10.11.12.13", 9999, b""),
        ("fd12:3456:789a::5", 9999, b""),
        ("10.11.12.13", 443, TOKEN.encode()),
        ("64:ff9b::a0b:c0d", 443, TOKEN.encode()),
    ]
    assert proof == ""
    assert count == 4, "neither loopback's datagrams nor the proof's are noted"


def test_a_closed_address_refuses_and_no_other_does(act):
    closed, proof, after = act(stage_samples.shut_out)
    assert closed == [True, False, True, False]
    assert proof == ""
    assert after == [False] * 4


def test_what_comes_late_counts_for_whoever_forbids_it_or_whose_canary_it_has(act):
    first, second = act(stage_samples.late)
    assert sorted(first) == [("10.11.12.13", True), ("11.22.33.44", True)]
    assert [address for address, late in second if not late] == [
        "10.11.12.13",
        *["11.22.33.44"] * 2,
        "10.11.12.13",
    ]


def test_a_process_has_one_stage_and_it_is_for_a_world():
    if isinstance(there := world.standing(), world.Impossible):
        pytest.skip(there.why)
    assert world.call(stage_samples.standing) == (True, ("127.0.0.1", 53))


def test_whoever_could_be_in_a_world_must_be():
    if not isinstance(world.standing(), world.Possible):
        pytest.skip("no world is possible, or we are in one")
    assert stage_samples.elsewhere().startswith("not in a network world")


def test_nothing_is_staged_where_a_packet_could_leave(monkeypatch):
    monkeypatch.setattr(module.world, "leads_out", lambda: "a route on eth0")
    with pytest.raises(StageError, match="could leave: a route on eth0"):
        Stage(in_world=True)


def test_without_worlds_there_is_a_table(monkeypatch):
    monkeypatch.setattr(module.world, "standing", lambda: world.Impossible(why="no"))
    monkeypatch.setattr(Stage, "_ours", None)
    with Stage.standing() as stage:
        assert isinstance(stage.ground, InTable)


def test_a_stage_that_cannot_listen_says_so(monkeypatch):
    def taken(*_):
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(module, "Names", taken)
    with pytest.raises(StageError, match=r"cannot be set up: .*already in use"):
        Stage(in_world=False)


def test_questions_count_for_the_window_and_late_for_whoever_forbids_them(table):
    def ask(name):
        dns.query.udp(dns.message.make_query(name, "A"), table.resolver[0], 5, table.resolver[1])

    first = table.begin(scene(ROW), TOKEN)
    ask("wiki.test")
    second = table.begin(scene(OTHER), TOKEN)
    for name in ("SECRET.test", "api.test"):
        ask(name)
    assert [(each.name, each.late) for each in first.queries()] == [
        ("wiki.test", False),
        ("secret.test", True),
    ]
    assert [(each.name, each.late) for each in second.queries()] == [
        ("secret.test", False),
        ("api.test", False),
    ]


def test_a_row_that_speaks_of_an_address_itself_gives_none_of_its_own_away(table):
    first = table.begin(scene(ROW), TOKEN)
    second = table.begin(scene({**ROW, "never_dial": []}), "em1")
    dial(table, "10.11.12.13", 80)
    settled(second.arrivals, 1)
    assert first.arrivals() == ()


@pytest.mark.parametrize(
    "row",
    [
        {"answers": {"a.test": [{"AAAA": ["$NAT64_10"]}]}, "request": {"connect": "a.test:80"}},
        {"request": {"raw": "CONNECT 10.11.12.13:80 HTTP/1.1\r\n\r\n"}},
        {"request": {"connect": "[::ffff:10.11.12.13]:80", "beside": "$PROXY:$PORT$MARKER"}},
    ],
    ids=["inside another", "written", "written in another way"],
)
def test_a_row_speaks_of_an_address_in_many_ways(table, row):
    first = table.begin(scene(ROW), TOKEN)
    way = table.ground.way("10.11.12.13", 80)
    second = table.begin(scene(row), "em1")
    socket.create_connection(way, 5).close()
    settled(second.arrivals, 1)
    assert first.arrivals() == ()


def test_what_a_control_asks_for_below_its_search_domain_counts_for_nobody_else(table):
    first = table.begin(scene({"never_ask": ["api.test.corp.test"]}), TOKEN)
    table.begin(scene(OTHER), "em1")
    query = dns.message.make_query("api.test.corp.test", "A")
    dns.query.udp(query, table.resolver[0], 5, table.resolver[1])
    assert first.queries() == ()


def test_what_another_arm_does_counts_by_its_canary_alone(table):
    first = table.begin(scene(ROW), TOKEN, "attempt")
    way = table.ground.way("10.11.12.13", 80)
    second = table.begin(scene({**OTHER, "never_ask": ["x.test"]}), "em1", "after")
    socket.create_connection(way, 5).close()
    dns.query.udp(dns.message.make_query("secret.test", "A"), table.resolver[0], 5, table.resolver[1])
    settled(second.arrivals, 1)
    assert first.arrivals() == first.queries() == ()
    dial(table, "11.22.33.44", 443, get())
    assert [each.address for each in first.arrivals()] == ["11.22.33.44"]


def test_a_window_that_has_ended_takes_nothing_more(table):
    window = table.begin(scene(OTHER), TOKEN)
    window.end()
    dial(table, "11.22.33.44", 443, get(token="em1"))
    assert window.arrivals() == ()


def test_what_a_row_serves_and_how_a_hello_without_an_end_is_seen(table):
    window = table.begin(scene(ROW), TOKEN)
    assert b"302 As Asked\r\n" in dial(table, "10.11.12.13", 80, get("/moved"))
    assert b"Location: http://11.22.33.55/\r\n" in dial(table, "10.11.12.13", 80, get("/moved"))
    assert b"was 10.11.12.13\narrived" in dial(table, "10.11.12.13", 80, get("http://wiki.test/gone"))
    dial(table, "10.11.12.13", 443, b"\x16\x03\x01\x00\x08secret.t")
    assert any(b"secret.t" in each.data for each in settled(window.arrivals, 4))


def test_the_certificate_is_for_whatever_name_is_asked_for(table):
    table.begin(scene(OTHER), TOKEN)
    for name in ("api.test", "xn--bcher-kva.test", "11.22.33.44"):
        assert b"arrived" in dial(table, "11.22.33.44", 443, get(), server_name=name)


def test_ports_that_a_row_names_are_listened_on_however_it_writes_them(table):
    table.begin(
        scene({**OTHER, "request": {"connect": "api.test:65979", "get": "https://api.test:81/"}}), TOKEN
    )
    for port in (443, 81, 80):
        assert b"arrived" in dial(table, "11.22.33.44", port, get())
    with pytest.raises(OSError, match=re.escape("no detour leads to 11.22.33.44:82")):
        dial(table, "11.22.33.44", 82)


class TestProof:
    """Each is a stage that has gone blind, and must say so."""

    def test_nobody_listens_any_more(self, table):
        table.begin(scene(ROW), TOKEN)
        table._servers.close()
        assert "10.11.12.13 cannot be listened at" in table.proof()

    def test_another_answers(self, table):
        table.begin(scene(ROW), TOKEN)
        with socket.create_server(("127.0.0.1", 0)) as stranger:
            table.ground._detours["10.11.12.13:80"] = stranger.getsockname()
            stranger.settimeout(5)

            def answer():
                with stranger.accept()[0] as connection:
                    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")

            thread = threading.Thread(target=answer)
            thread.start()
            assert table.proof() == "another answers at 10.11.12.13"
            thread.join()

    def test_names_are_not_answered(self, table, monkeypatch):
        monkeypatch.setattr(module, "_ANSWER", 0.05)
        table.begin(scene(OTHER), TOKEN)
        table._names.close()
        assert "the DNS server does not answer" in table.proof()


def test_a_dial_is_noted_before_a_byte_follows_and_all_bytes_until_the_limit(table):
    window = table.begin(scene(OTHER), TOKEN)
    with socket.create_connection(table.ground.way("11.22.33.44", 443), 5) as connection:
        (arrival,) = settled(window.arrivals, 1)
        assert arrival.data == b""
        assert arrival.at <= time.monotonic()
        connection.sendall(b"x\n" * 100_000)
        until = time.monotonic() + 5
        while len(window.arrivals()[0].data) < 65536 and time.monotonic() < until:
            time.sleep(0.001)
    assert len(window.arrivals()[0].data) == 65536


def test_closed_ports_are_closed_on_the_table_for_all_spellings(table):
    table.begin(scene({**CLOSED, "closed": ["$MAPPED_PUB"]}), TOKEN)
    assert stage_samples.refused(table, "11.22.33.44", 9)
