"""The addresses that rows name: what they are, where they arrive, and that others agree on their class."""

import json
from ipaddress import ip_address

import pytest
from jsonschema import Draft202012Validator

from matrix import locate
from matrix.internet.addresses import addresses, arrives, spell, symbols
from runners.tier1.addresses import classify

TABLE = json.loads((locate.testdata() / "addresses.json").read_text())
SCHEMA = json.loads((locate.testdata() / "addresses.schema.json").read_text())


def test_the_table_is_as_its_schema_says():
    Draft202012Validator.check_schema(SCHEMA)
    check = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert list(check.iter_errors(TABLE)) == []
    for wrong in ({"address": "10.0.0.256", "class": "private"}, {"address": "10.0.0.1", "class": "secret"}):
        assert not check.is_valid({**TABLE, "WRONG": wrong})


def test_every_class_is_the_one_that_the_reference_sandbox_finds():
    assert {name: each.address_class for name, each in symbols().items()} == {
        name: str(classify(ip_address(each.address))) for name, each in symbols().items()
    }


def test_no_address_has_two_symbols():
    assert len({ip_address(each.address) for each in symbols().values()}) == len(symbols())


def test_only_what_no_socket_can_have_is_seen_in_the_dial_log_alone():
    for each in symbols().values():
        found = ip_address(each.address)
        unseen = found.is_multicast or (found.is_link_local and found.version == 6) or each.name == "BCAST"
        assert unseen == (each.observe == "dial-log"), each.name


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("10.11.12.13", "10.11.12.13"),
        ("::ffff:10.11.12.13", "10.11.12.13"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "::1"),
        ("::ffff:0.0.0.0", "127.0.0.1"),
        ("2600:FFFF:0:0::44", "2600:ffff::44"),
    ],
)
def test_where_a_dial_arrives(given, seen):
    assert arrives(given) == seen


def test_symbols_are_spelled_wherever_they_stand():
    assert spell("http://$PRIV10:80/$6TO4_10?$MARKER") == "http://10.11.12.13:80/2002:a0b:c0d::1?$MARKER"
    assert spell("$PROXY") == "$PROXY", "the attack's"
    with pytest.raises(KeyError, match="NOWHERE"):
        spell("$NOWHERE")


def test_many_addresses_are_distinct_of_one_class_and_nobody_else_s():
    many = addresses("$PUB4_A*63")
    assert len(set(many)) == 63
    assert {str(classify(ip_address(each))) for each in many} == {"public"}
    assert not set(many) & {each.address for each in symbols().values()}
    assert addresses("$PUB4_A") == ("11.22.33.44",)
    assert addresses("192.0.2.1") == ("192.0.2.1",)
