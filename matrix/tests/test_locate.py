"""Where the client programs of rows are looked for."""

from pathlib import Path

from matrix import locate


def test_the_variable_comes_first(monkeypatch, tmp_path):
    monkeypatch.setenv(locate.CLIENTS, str(tmp_path))
    assert locate.clients() == tmp_path


def test_a_checkout_has_its_own(monkeypatch):
    monkeypatch.delenv(locate.CLIENTS, raising=False)
    assert locate.clients() == locate.package("matrix").parent / ".clients"


def test_an_installed_package_looks_at_home(monkeypatch, tmp_path):
    monkeypatch.delenv(locate.CLIENTS, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(locate, "package", lambda name: Path("/nowhere") / name)
    assert locate.clients() == tmp_path / ".cache/escape-matrix/clients"
