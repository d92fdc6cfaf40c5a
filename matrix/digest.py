"""One digest for several files, so that a report says exactly what it was made with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def digest(files: Iterable[Path]) -> str:
    """SHA-256 over names and contents, in the given order."""
    whole = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        whole.update(f"{file.name} {len(content)}\n".encode())
        whole.update(content)
    return whole.hexdigest()
