"""Where the shipped files are: beside the package in a source tree, inside it in a wheel."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

CLIENTS = "ESCAPE_MATRIX_CLIENTS"
"""The variable that names another folder of client programs."""


def package(name: str) -> Path:
    """The folder of one of our packages."""
    return Path(str(files(name)))


def testdata() -> Path:
    """The folder of the table, its schemas and its expectations."""
    matrix = package("matrix")
    shipped = matrix / "_testdata"
    return shipped if shipped.is_dir() else matrix.parent / "testdata"


def table() -> Path:
    """The built-in table."""
    return testdata() / "egress-cases.json"


def rules() -> Path:
    """The rules of the specification that rows name."""
    return testdata() / "rules.json"


def backends() -> Path:
    """The built-in columns."""
    return package("runners") / "backends.toml"


def attacks() -> Path:
    """The folder of attacks, and of the launcher that runs them."""
    return package("attacks")


def witnesses() -> Path:
    """The folder of witnesses."""
    return package("matrix") / "witnesses"


def clients() -> Path:
    """The folder of the client programs that rows start, made by `make clients`; it may be absent.

    What the variable names, else the checkout's own, else one in the caller's home for an installed package.
    """
    if named := os.environ.get(CLIENTS):
        return Path(named).absolute()
    checkout = package("matrix").parent
    if (checkout / "ci" / "clients.sh").is_file():
        return checkout / ".clients"
    return Path.home() / ".cache" / "escape-matrix" / "clients"


def shown(path: Path) -> str:
    """What messages and reports call a file: ours by its place in the tree, others relative to here."""
    full = path.absolute()
    ours = {testdata(): "testdata", package("runners"): "runners"}
    for root, name in ({**ours, Path.cwd(): ""}).items():
        if full.is_relative_to(root):
            return str(Path(name) / full.relative_to(root))
    return str(path)
