"""The limit of core files at which the host's handler stays away, and who cannot have it."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from runners.tier1.tests.launched import cores, guards


def test_the_limit_is_one_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda what, limits: asked.append((what, limits)))
    cores.keep()
    assert asked == [(resource.RLIMIT_CORE, (1, 1))]


@pytest.mark.parametrize(
    ("pattern", "declined"), [("core\n", False), ("|/bin/x %p\n", True), ("@/x\n", True)]
)
def test_where_it_cannot_be_raised_there_must_be_no_handler(
    pattern: str, *, declined: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    (tmp_path / "pattern").write_text(pattern)
    monkeypatch.setattr(resource, "setrlimit", refused)
    monkeypatch.setattr(cores, "PATTERN", str(tmp_path / "pattern"))
    if declined:
        with pytest.raises(guards.Declined, match="set it to 1"):
            cores.keep()
    else:
        cores.keep()
