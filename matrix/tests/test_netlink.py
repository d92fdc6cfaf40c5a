"""What is routed here arrives here, and no interface shows it."""

import socket
from pathlib import Path

import pytest

from matrix import netlink, world
from matrix.internet.addresses import arrives, symbols


def dialled():
    """Where dials to every address of the table arrive, and what the interfaces of the world show of them."""
    for symbol in symbols().values():
        if not symbol.observe and not symbol.arrives.startswith(("127.", "::1")):
            netlink.route_here(symbol.arrives)
    found = {}
    with socket.create_server(("", 4433), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        for symbol in symbols().values():
            if symbol.observe:
                continue
            family = socket.AF_INET6 if ":" in symbol.address else socket.AF_INET
            with socket.socket(family) as dialling:
                dialling.settimeout(5)
                dialling.connect((symbol.address, 4433))
                with server.accept()[0] as accepted:
                    found[symbol.name] = arrives(accepted.getsockname()[0])
    shown = Path("/proc/self/net/if_inet6").read_text()
    return found, shown, world.leads_out()


def routed_twice():
    """The second time changes nothing."""
    netlink.route_here("192.0.2.1")
    netlink.route_here("192.0.2.1")


def nonsense():
    """No such interface."""
    netlink.add_address("192.0.2.1", 32, "no-such")


@pytest.fixture(autouse=True)
def possible():
    if isinstance(there := world.standing(), world.Impossible):
        pytest.skip(there.why)


def test_every_address_of_the_table_that_can_be_seen_is_seen_where_it_says():
    if not Path("/proc/self/net/if_inet6").exists():
        pytest.skip("this kernel has no IPv6")
    found, shown, way = world.call(dialled)
    assert found == {each.name: each.arrives for each in symbols().values() if not each.observe}
    assert "fd123456789a" not in shown, "a route, and no address of an interface"
    assert way == ""


def test_a_route_that_is_there_stays():
    world.call(routed_twice)


def test_what_the_kernel_refuses_is_raised():
    with pytest.raises(OSError, match="no interface with this name"):
        world.call(nonsense)
