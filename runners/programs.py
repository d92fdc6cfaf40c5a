"""Where the programs are that ci/proxies.sh installs beside this checkout and not on the system."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runners.local import which

VARIABLE = "ESCAPE_MATRIX_PROXIES"


def folder() -> Path:
    """`.proxies` beside the checkout's own folders, or what the variable names."""
    return Path(os.environ.get(VARIABLE) or Path(__file__).resolve().parent.parent / ".proxies")


def find(path: str) -> str:
    """The program at that path of the folder, else the one of its name on PATH; its bare name if nowhere."""
    installed = folder() / path
    return str(installed) if installed.is_file() else which(installed.name)


def option(program: str) -> Mapping[str, Any]:
    """The one option of a runner whose program may be anywhere."""
    described = f"Where {program} is (default: as ci/proxies.sh installs it, else on PATH)."
    properties = {"program": {"type": "string", "pattern": "^/", "description": described}}
    return {"type": "object", "additionalProperties": False, "properties": properties}
