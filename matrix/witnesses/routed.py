"""An address that a row of the network world lets out to: here it leads to ourselves, and to nobody else."""

from __future__ import annotations

from matrix import netlink, world
from matrix.witnesses.contract import Unplantable


def here(address: str) -> None:
    """From now on what is sent to that address arrives on our own loopback. Raises Unplantable."""
    if way := world.leads_out():
        raise Unplantable(f"{address} is routed here only in a network world: this network leads out ({way})")
    try:
        netlink.route_here(address)
    except OSError as error:
        raise Unplantable(f"cannot route {address} to ourselves: {error.strerror}") from error
