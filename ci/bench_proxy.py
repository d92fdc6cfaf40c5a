"""Times the egress proxy of tier1 beside squid, both in one network namespace without a way out.

python ci/bench_proxy.py [--rounds N]: milliseconds that a CONNECT takes over a direct connect, bytes per
second through one tunnel, and resident memory with 500 tunnels open and after 10,000 refusals. Exit code 1
where one of the goals is missed. Squid keeps what it resolved, tier1 asks for each call anew.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

from proxy_bed import (
    ADDRESS,
    BUFFER,
    HELD,
    HOST,
    SOURCE,
    Subject,
    held,
    names,
    running,
    source,
    squid,
    tier1,
    until,
)

from matrix import world

CONNECTS, SECONDS, TUNNELS, REFUSALS = 80, 2.0, 500, 10_000  # the first two in each round
MOST_ADDED, LEAST_SHARE, MOST_GROWTH = 1.0, 0.6, 8.0  # milliseconds, of squid's bytes a second, MiB


def main(arguments: list[str]) -> int:
    """Measure in a world of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="measurements of which the median counts")
    from bench_proxy import measure as importable  # noqa: PLC0415 - under its own name, for the child

    return world.call(importable, parser.parse_args(arguments).rounds)


def measure(rounds: int) -> int:
    """All figures, printed; 1 where a goal was missed."""
    if way := world.leads_out():
        raise SystemExit(f"this network leads out ({way}); nothing is measured here")
    world.add_address(ADDRESS, 32)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as stack:
        for part in (names, held, source):
            stack.enter_context(running(part))
        for port in (HELD, SOURCE):
            until(lambda port=port: socket.create_connection((ADDRESS, port)).close())
        ours, other = stack.enter_context(tier1()), stack.enter_context(squid())
        print(f"{os.cpu_count()} processors, medians of {rounds} rounds")
        met = [connects(ours, other, rounds), speed(ours, other, rounds)]
        grown = memory(ours)
        if other:
            memory(other)
        met.append(goal(f"tier1 grew by {grown:.1f} MiB, {MOST_GROWTH:g} at most", met=grown <= MOST_GROWTH))
    return 0 if all(met) else 1


def connects(ours: Subject, other: Subject | None, rounds: int) -> bool:
    """What a CONNECT takes more than a direct connect, in milliseconds."""
    ways: dict[str, Callable[[], socket.socket]] = {
        "direct": lambda: socket.create_connection((ADDRESS, HELD)),
        "tier1": lambda: ours.connect(HOST, HELD),
    }
    if other:
        ways["squid"] = lambda: other.connect(HOST, HELD)
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(CONNECTS * rounds):
        for name, way in ways.items():
            begun = time.perf_counter()
            sock = way()
            took[name].append(1000 * (time.perf_counter() - begun))
            sock.close()
    medians = {name: statistics.median(each) for name, each in took.items()}
    for name, median in medians.items():
        slow = statistics.quantiles(took[name], n=100)[98]
        print(f"connect  {name:7} {median:6.3f} ms, 99 of 100 below {slow:.3f}")
    added = medians["tier1"] - medians["direct"]
    return goal(f"tier1 adds {added:.3f} ms at the median, {MOST_ADDED:g} at most", met=added <= MOST_ADDED)


def speed(ours: Subject, other: Subject | None, rounds: int) -> bool:
    """Bytes a second through one tunnel."""
    ways: dict[str, Callable[[], socket.socket]] = {"tier1": lambda: ours.connect(HOST, SOURCE)}
    if other:
        ways["squid"] = lambda: other.connect(HOST, SOURCE)
    ways["direct"] = lambda: socket.create_connection((ADDRESS, SOURCE))
    seen: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            with way() as sock:
                seen[name].append(received(sock) / 1e6)
    medians = {name: statistics.median(each) for name, each in seen.items()}
    for name, median in medians.items():
        print(f"tunnel   {name:7} {median:6.0f} MB/s, {min(seen[name]):.0f} to {max(seen[name]):.0f}")
    if not other:
        return goal("squid cannot be started here: its share is not known", met=False)
    share = medians["tier1"] / medians["squid"]
    return goal(f"tier1 has {share:.0%} of squid's, {LEAST_SHARE:.0%} at least", met=share >= LEAST_SHARE)


def received(sock: socket.socket) -> float:
    """Bytes a second that come, once they come."""
    buffer, count = bytearray(BUFFER), 0
    sock.recv_into(buffer)
    begun = time.perf_counter()
    while (spent := time.perf_counter() - begun) < SECONDS:
        count += sock.recv_into(buffer)
    return count / spent


def memory(subject: Subject) -> float:
    """Resident memory before, under and after each load; each comes twice: MiB that the second leaves."""
    grown = 0.0
    for load, title in (
        (tunnels, f"{TUNNELS} tunnels at once"),
        (refusals, f"{REFUSALS:,} refusals in a row"),
    ):
        for time_ in ("first", "again"):
            before = subject.memory()
            most = load(subject)
            after = subject.memory()
            print(f"memory   {subject.name:7} {title}, {time_}: {before:.1f}, {most:.1f}, {after:.1f} MiB")
        grown = max(grown, after - before)
    return grown


def tunnels(subject: Subject) -> float:
    """Many tunnels at once; MiB meanwhile."""
    with ExitStack() as stack:
        for _ in range(TUNNELS):
            stack.enter_context(subject.connect(HOST, HELD))
        most = subject.memory()
    until(lambda: subject.open_below(TUNNELS))
    return most


def refusals(subject: Subject) -> float:
    """Many refusals in a row; MiB after them."""
    for _ in range(REFUSALS):
        try:
            subject.connect("other.unlisted.test", HELD).close()
        except ConnectionRefusedError:
            continue
        raise SystemExit(f"{subject.name} let an unlisted host through")
    return subject.memory()


def goal(text: str, *, met: bool) -> bool:
    """Say it, and whether it was met."""
    print(f"{'met' if met else 'MISSED':8} {text}")
    return met


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
