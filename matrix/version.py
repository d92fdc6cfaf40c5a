"""The version of the installed product, or of the source tree."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("escape-matrix")
    except PackageNotFoundError:  # run from a source tree that was not installed
        return "0+source"


VERSION = _installed()
