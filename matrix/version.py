"""The version of the installed product, or of the source tree."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("escape-matrix")
except PackageNotFoundError:  # run from a source tree that was not installed
    VERSION = "0+source"
