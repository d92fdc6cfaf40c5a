"""The network rows on the real thing: nothing is held unconfined, and what bubblewrap holds is as known."""

import shutil

import pytest

from matrix import world
from matrix.tests.network_samples import verdicts

pytestmark = pytest.mark.real
ROWS = "(lo|ux|raw)-"


@pytest.fixture(scope="module", autouse=True)
def possible():
    if isinstance(there := world.standing(), world.Impossible):
        pytest.skip(there.why)


@pytest.fixture(scope="module")
def bubblewrap():
    """bubblewrap as its README starts it: the whole file system to read, every namespace its own."""
    if not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not installed: apt-get install bubblewrap")
    return world.call(verdicts, "bubblewrap", {"mode": "usual"}, ROWS)


def test_unconfined_nothing_is_held():
    found = world.call(verdicts, "unconfined", {}, ROWS)
    assert len(found) > 50
    assert not {name: word for name, word in found.items() if word.startswith("held")}
    escaped = {name for name, word in found.items() if word.startswith("escaped")}
    assert {"lo-tcp4", "lo-udp-sendto", "lo-host-gateway-magic-10-0-2-2", "raw-icmp-ping"} <= escaped
    assert {"ux-pathname-connect", "ux-abstract-connect", "raw-netlink-proc-tcp"} <= escaped


@pytest.mark.parametrize("row", ["lo-udp-sendto", "lo-udp-connect", "lo-udp-sendmsg", "lo-udp6-sendto"])
def test_udp_into_the_sandbox_s_own_loopback_is_a_private_copy(bubblewrap, row):
    assert bubblewrap[row].startswith("held private copy")


@pytest.mark.parametrize("row", ["", "-dgram", "-seqpacket", "-reverse"])
def test_a_network_namespace_holds_abstract_sockets(bubblewrap, row):
    assert bubblewrap[f"ux-abstract-connect{row}"].startswith("held")


@pytest.mark.parametrize(
    "row", ["ux-pathname-connect", "ux-pathname-connect-seqpacket", "ux-dgram-sendto", "ux-dgram-reconnect"]
)
def test_it_does_not_hold_sockets_with_a_path(bubblewrap, row):
    assert bubblewrap[row].startswith("escaped")


def test_gateway_addresses_are_not_reached(bubblewrap):
    magic = {name: word for name, word in bubblewrap.items() if "gateway-magic" in name}
    assert len(magic) == len(world.GATEWAYS)
    assert all(word.startswith("held refused") for word in magic.values()), magic


@pytest.mark.parametrize("row", ["raw-icmp", "raw-icmp6", "raw-icmp-spoofed", "raw-packet-inject"])
def test_raw_packets_of_a_privileged_sandbox_stay_on_its_own_loopback(bubblewrap, row):
    assert bubblewrap[row].startswith(("held private copy", "held refused: socket: EPERM"))


def test_vsock_lies_outside_the_network_namespace(bubblewrap):
    assert bubblewrap["lo-vsock"].startswith(("escaped", "untested unconfined: socket: EAFNOSUPPORT"))
