"""What is proposed would allow what was refused, passes lint, and is said once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.contract import Denial, Egress, Proposal
from runners.tier1.hosts import Malformed, read_host
from runners.tier1.learn import propose
from runners.tier1.lists import Lists, Unlisted

Learn = Callable[[Iterable[Denial]], Sequence[Proposal]]

BOTH, TENANT = ("manifest", "tenant"), ("tenant",)


def denial(kind: str, host: str, port: int = 443) -> Denial:
    return Denial(kind=kind, host=host, port=port)


CASES: list[tuple[list[Denial], list[tuple[tuple[str, ...], str]]]] = [
    ([], []),
    ([denial("unlisted", "api.test")], [(BOTH, "api.test")]),
    ([denial("unlisted", "api.test", 80)], [(BOTH, "api.test")]),
    ([denial("unlisted", "api.test", 8443)], [(BOTH, "api.test:8443")]),
    ([denial("unlisted", "API.Test.")], [(BOTH, "api.test")]),
    ([denial("private", "wiki.test")], [(TENANT, "wiki.test")]),
    ([denial("private", "wiki.test", 22)], [(TENANT, "wiki.test:22")]),
    ([denial("private", "10.1.2.3")], [(TENANT, "10.1.2.3")]),
    ([denial("private", "[fd12::5]", 9)], [(TENANT, "[fd12::5]:9")]),
    ([denial("unlisted", "11.22.33.44")], [(BOTH, "11.22.33.44")]),
    ([denial("unlisted", "10.1.2.3")], [(TENANT, "10.1.2.3")]),
    ([denial("unlisted", "169.254.169.254")], []),
    ([denial("unlisted", "[::1]")], []),
    ([denial("special", "md.test", 80)], []),
    ([denial("mismatch", "api.test")], []),
    ([denial("malformed", "api..test")], []),
    ([denial("malformed", "api.test")], []),
    ([denial("unlisted", r"api.test\u{0000}.evil.test")], []),
    ([denial("else", "api.test")], []),
    ([denial("unlisted", "api.test")] * 200, [(BOTH, "api.test")]),
    ([denial("unlisted", "api.test", 80), denial("unlisted", "api.test")], [(BOTH, "api.test")]),
    ([denial("unlisted", "wiki.test"), denial("private", "wiki.test")], [(TENANT, "wiki.test")]),
    ([denial("private", "wiki.test"), denial("unlisted", "wiki.test")], [(TENANT, "wiki.test")]),
    (
        [
            denial("unlisted", "b.test"),
            denial("special", "x.test"),
            denial("private", "a.test"),
            denial("unlisted", "b.test", 22),
        ],
        [(BOTH, "b.test"), (TENANT, "a.test"), (BOTH, "b.test:22")],
    ),
]


def wrong(learn: Learn) -> list[list[Denial]]:
    return [given for given, right in CASES if [(each.lists, each.entry) for each in learn(given)] != right]


def test_what_is_proposed() -> None:
    assert wrong(propose) == []


DOUBLES: dict[str, Learn] = {
    "both lists for everything": lambda given: [
        Proposal(lists=BOTH, entry=each.entry) for each in propose(given)
    ],
    "the manifest for private hosts": lambda given: [
        Proposal(lists=("manifest",) if each.lists == TENANT else each.lists, entry=each.entry)
        for each in propose(given)
    ],
    "without the port": lambda given: [
        Proposal(lists=each.lists, entry=each.entry.removesuffix(":8443").removesuffix(":22"))
        for each in propose(given)
    ],
    "one for each refusal": lambda given: [each for one in given for each in propose([one])],
    "special hosts too": lambda given: propose(
        Denial(kind="unlisted" if each.kind == "special" else each.kind, host=each.host, port=each.port)
        for each in given
    ),
    "as it was asked": lambda given: [Proposal(lists=BOTH, entry=each.host) for each in given],
    "nothing": lambda _: [],
}


@pytest.mark.parametrize("double", DOUBLES.values(), ids=DOUBLES)
def test_wrong_proposals_are_noticed(double: Learn) -> None:
    assert wrong(double)


HOSTS = st.one_of(
    st.from_regex(r"[a-zA-Z0-9_.-]{1,20}", fullmatch=True),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda each: f"[{each}]"),
    st.text(max_size=20),
)
DENIALS = st.builds(
    Denial,
    kind=st.sampled_from(["unlisted", "private", "special", "mismatch", "malformed", "x"]),
    host=HOSTS,
    port=st.integers(1, 65535),
)


@given(st.lists(DENIALS, max_size=6))
def test_every_proposal_passes_lint_and_lists_the_host(denials: list[Denial]) -> None:
    proposals = propose(denials)
    assert len({each.entry for each in proposals}) == len(proposals)
    for proposal in proposals:
        assert proposal.lists in {BOTH, TENANT}
        for which in proposal.lists:
            held = Lists.read(Egress(**{which: (proposal.entry,)}))
            assert isinstance(held, Lists), held
    for each in denials:
        host = read_host(each.host)
        if each.kind == "unlisted" and not isinstance(host, Malformed):
            held = Lists.read(Egress(tenant=tuple(one.entry for one in proposals)), strict=False)
            proposed = not isinstance(held.match(host, each.port), Unlisted)
            assert proposed or propose([each]) == ()
