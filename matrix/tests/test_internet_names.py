"""What the DNS server of the little internet says, step by step, and what it is told to do wrong."""

import socket

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest

from matrix.internet.book import Book, spelled
from matrix.internet.log import Log
from matrix.internet.names import HOST, PROOF, Names
from matrix.scene import Answer, scene


def book(**answers):
    """A book by the JSON of a row; `_` stands for a dot in names."""
    given = {name.replace("_", "."): steps for name, steps in answers.items()}
    return Book(spelled(scene({"answers": given}).answers))


def ask(of, name, kind="A"):
    """(rcode, data in order) of the true answer; None for silence."""
    true = of.reply(dns.message.make_query(name, kind)).true
    if true is None:
        return None
    data = [line.split(" ", 4)[4] for rrset in true.answer for line in rrset.to_text().splitlines()]
    return dns.rcode.to_text(true.rcode()), data


def test_steps_count_for_each_name_and_type_and_the_last_repeats():
    of = book(a_test=[{"A": ["$PUB4_A"], "AAAA": ["$ULA"]}, {"A": ["$PRIV10"]}])
    assert [ask(of, "a.test")[1] for _ in range(3)] == [["11.22.33.44"], ["10.11.12.13"], ["10.11.12.13"]]
    assert [ask(of, "a.test", "AAAA")[1] for _ in range(2)] == [["fd12:3456:789a::5"], []]


def test_letters_and_the_last_dot_make_no_difference_and_order_is_kept():
    of = book(A_Test_=[{"A": ["$PUB4_A", "$PRIV10", "$CGNAT"]}])
    for _ in range(20):
        assert ask(of, "a.TEST.") == ("NOERROR", ["11.22.33.44", "10.11.12.13", "100.64.9.10"])


def test_a_name_that_is_not_there_is_told_from_one_that_has_no_such_records():
    of = book(a_test=[{"A": ["$PUB4_A"]}])
    assert ask(of, "b.test") == ("NXDOMAIN", [])
    assert ask(of, "a.test", "AAAA") == ("NOERROR", [])


def test_the_whole_chain_of_other_names_comes_in_one_answer():
    of = book(a_test=[{"CNAME": "b.test"}], b_test=[{"CNAME": "c.test"}], c_test=[{"A": ["$PRIV10"]}])
    assert ask(of, "a.test") == ("NOERROR", ["b.test.", "c.test.", "10.11.12.13"])
    assert ask(of, "a.test", "CNAME") == ("NOERROR", ["b.test."])


def test_a_chain_that_bites_its_tail_fails_and_may_be_mended_by_the_next_step():
    of = book(a_test=[{"CNAME": "b.test"}, {"A": ["$PRIV10"]}], b_test=[{"CNAME": "a.test"}])
    assert ask(of, "a.test") == ("SERVFAIL", [])
    assert ask(of, "a.test") == ("NOERROR", ["10.11.12.13"])


def test_a_row_s_own_rcode_silence_and_time_to_live():
    of = book(a_test=[{"rcode": "SERVFAIL"}, {"silent": True}, {"A": ["$PUB4_A"], "ttl": 60}])
    assert ask(of, "a.test") == ("SERVFAIL", [])
    assert ask(of, "a.test") is None
    assert of.reply(dns.message.make_query("a.test", "A")).true.answer[0].ttl == 60


def test_a_name_beyond_ascii_is_found_in_every_form_that_somebody_asks_for():
    of = Book(spelled(scene({"answers": {"faß.test": [{"A": ["$PUB4_A"]}]}}).answers))
    for name in ("fass.test", "xn--fa-hia.test", dns.name.Name(["faß".encode(), b"test", b""])):
        assert ask(of, name) == ("NOERROR", ["11.22.33.44"])


def test_what_is_forged_comes_first_and_must_not_be_taken():
    query = dns.message.make_query("a.test", "A")
    of = book(a_test=[{"A": ["$PUB4_A"], "forged": "$PRIV10"}])
    reply = of.reply(query)
    assert [query.is_response(message) for message in reply.forged] == [False, False]
    assert all("10.11.12.13" in message.to_text() for message in reply.forged)
    assert query.is_response(reply.true)
    assert of.reply(dns.message.make_query("a.test", "AAAA")).forged == ()


@pytest.fixture
def served():
    """A server at any port, and its log."""
    log = Log()
    names = Names(log, 0)
    names.start()
    yield names, log
    names.close()


def test_both_ways_to_ask_and_what_is_too_long_for_a_datagram(served):
    names, log = served
    names.tell(book(a_test=[{"A": ["$PUB4_A*63"]}]))
    query = dns.message.make_query("A.test", "A")
    answer, by_stream = dns.query.udp_with_fallback(query, HOST, 5, names.port)
    assert by_stream
    assert sum(map(len, answer.answer)) == 63
    assert [(each.name, each.kind) for each, _ in log.queries(0)] == [("a.test", "A")] * 2


def test_an_answer_that_breaks_costs_its_own_question_alone(served):
    names, _ = served
    names.tell(Book({"a.test": (Answer(addresses={"A": ("nonsense",)}),), "b.test": (Answer(),)}))
    with pytest.raises(dns.exception.Timeout):
        dns.query.udp(dns.message.make_query("a.test", "A"), HOST, 0.2, names.port)
    assert dns.query.udp(dns.message.make_query("b.test", "A"), HOST, 2, names.port).rcode() == 0


def test_our_own_questions_are_not_noted_and_nonsense_ends_nothing(served):
    names, log = served
    for nonsense in (b"", b"\0", b"\xff" * 40):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.sendto(nonsense, (HOST, names.port))
    answer = dns.query.tcp(dns.message.make_query("x" + PROOF, "A"), HOST, 5, names.port)
    assert answer.rcode() == dns.rcode.NXDOMAIN
    assert dns.query.udp(dns.message.make_query("b.test", "A"), HOST, 5, names.port).id
    assert [each.name for each, _ in log.queries(0)] == ["b.test"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"A": ["$ULA"]},
        {"AAAA": ["$PRIV10"]},
        {"A": ["no address"]},
        {"rcode": "NONE"},
        {"A": ["$PUB4_A"], "forged": "nonsense"},
        {"CNAME": "a..b"},
    ],
)
def test_what_no_answer_can_hold_is_a_mistake_at_once(wrong):
    with pytest.raises((ValueError, dns.exception.DNSException)):
        book(a_test=[wrong])


def test_an_unknown_symbol_is_a_mistake_at_once():
    with pytest.raises(KeyError):
        book(a_test=[{"A": ["$NOWHERE"]}])
