"""Two lists are read whole and changed whole; the tenant's is asked first; what is on none is unlisted."""

from __future__ import annotations

from runners.contract import Egress
from runners.tier1.hosts import Malformed, read_authority
from runners.tier1.lists import Lists, Unlisted


def lists(*manifest: str, tenant: tuple[str, ...] = ()) -> Lists:
    return Lists.read(Egress(manifest=manifest, tenant=tenant), strict=False)


def matched(held: Lists, asked: str) -> str:
    read = read_authority(asked, None)
    assert not isinstance(read, Malformed)
    which = held.match(*read)
    return "" if isinstance(which, Unlisted) else which


def test_the_list_that_has_the_host() -> None:
    held = lists("api.test", "both.test", tenant=("wiki.test:8443", "both.test"))
    assert matched(held, "api.test:443") == "manifest"
    assert matched(held, "wiki.test:8443") == "tenant"
    assert matched(held, "wiki.test:443") == ""
    assert matched(held, "both.test:443") == "tenant", "it reaches further"
    assert matched(held, "other.test:443") == ""


def test_the_other_list_counts_where_the_first_has_another_port() -> None:
    held = lists("both.test:22", tenant=("both.test",))
    assert matched(held, "both.test:22") == "manifest"


def test_empty_lists_reach_nothing() -> None:
    for held in (Lists(), lists(), Lists.read(Egress())):
        assert isinstance(held, Lists)
        assert matched(held, "api.test:443") == ""


def test_all_that_is_wrong_is_said_at_once() -> None:
    egress = Egress(
        manifest=("*", "api.test", "10.1.2.3", "https://x.test"), tenant=("0.0.0.0/0", "127.0.0.1")
    )
    read = Lists.read(egress)
    assert isinstance(read, tuple)
    assert [(fault.which, fault.entry) for fault in read] == [
        ("manifest", "*"),
        ("manifest", "10.1.2.3"),
        ("manifest", "https://x.test"),
        ("tenant", "0.0.0.0/0"),
        ("tenant", "127.0.0.1"),
    ]


def test_what_is_installed_is_kept_as_far_as_it_can_be_matched() -> None:
    held = lists("*", "api.test", "10.1.2.3", tenant=("127.0.0.1",))
    assert matched(held, "api.test:443") == "manifest"
    assert matched(held, "10.1.2.3:443") == "manifest", "kept, so that it is refused by its address"
    assert matched(held, "127.0.0.1:443") == "tenant"
    assert matched(held, "x.test:443") == "", "what is no entry opens nothing"
    assert len(held.faults) == 3


def test_a_change_is_taken_whole() -> None:
    before = lists("api.test")
    after = before.change(Egress(manifest=("api.test",), tenant=("10.0.0.0/8", "wiki.test")))
    assert isinstance(after, Lists)
    assert matched(after, "10.1.2.3:80") == "tenant"
    assert matched(after, "wiki.test:443") == "tenant"


def test_a_change_with_a_fault_is_refused_whole() -> None:
    before = lists("api.test")
    for bad in ("*", "0.0.0.0/0", "127.0.0.1", "x.test:99999"):
        refused = before.change(Egress(manifest=("api.test",), tenant=("wiki.test", bad)))
        assert isinstance(refused, tuple), bad
        assert [fault.entry for fault in refused] == [bad]
    assert matched(before, "wiki.test:443") == ""


def test_what_was_wrong_before_keeps_no_change_from_being_made() -> None:
    before = lists("10.1.2.3", "*")
    after = before.change(Egress(manifest=("10.1.2.3", "*"), tenant=("10.1.2.3",)))
    assert isinstance(after, Lists)
    assert matched(after, "10.1.2.3:443") == "tenant"
    assert len(after.faults) == 2
    again = after.change(Egress(manifest=("10.1.2.3", "*"), tenant=("*",)))
    assert isinstance(again, tuple), "the same fault on the other list is a new one"


def test_whose_entries_they_are_is_kept() -> None:
    assert Lists.read(Egress(principal="agent"), strict=False).principal == "agent"
