"""The attack that burdens a proxy before it asks, against one of our own that answers as told."""

import errno

import pytest

from attacks.tests.answering import NO, OPEN, ask
from attacks.tests.inside import TOKEN, load


class TestStress:
    @pytest.mark.parametrize(
        ("stress", "guests"),
        [("slow-20", 22), ("tunnels-50", 52), ("denials-200", 202), ("garbage", 11), ("headers-1000", 3),
         ("target-1m", 3)],
    )  # fmt: skip
    def test_each_burden_is_followed_by_the_call(self, proxy, monkeypatch, stress, guests):
        monkeypatch.setattr(load("proxy_stress"), "PAUSE", 0)
        proxy.answer = lambda head: OPEN if b"listed.test" in head else NO
        row = {"stress": stress, "through": "listed.test:443", "then": {"connect": "other.test:443"}}
        said, facts, steps = ask(("forbidden", row), attack="proxy_stress")
        assert (said, facts["errno"], steps) == ("refused", errno.EACCES, ["proxy", "forbidden"])
        assert "403 Forbidden" in facts["text"]
        assert proxy.guests == guests
        assert proxy.asked[-1].startswith(b"CONNECT other.test:443")

    def test_a_proxy_that_gives_way_is_asked_with_the_marker(self, proxy):
        row = {"stress": "headers-1000", "through": "a.test:443", "then": {"connect": "other.test:443"}}
        assert ask(("forbidden", row), attack="proxy_stress")[0] == "acted"
        assert f"X-Marker: {TOKEN}.0".encode() in proxy.asked[-1]

    def test_the_allowed_call_beside_it_is_no_burden(self, proxy):
        said, _, steps = ask(("listed", {"connect": "a.test:443"}), attack="proxy_stress")
        assert (said, steps, proxy.guests) == ("acted", ["proxy", "listed"], 2)

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it ends open
    def test_a_burden_that_is_none_proves_nothing(self, proxy):
        proxy.answer = lambda _: NO
        row = {"stress": "tunnels-50", "through": "listed.test:443", "then": {"connect": "other.test:443"}}
        with pytest.raises(RuntimeError, match="not even one tunnel"):
            ask(("forbidden", row), attack="proxy_stress")
