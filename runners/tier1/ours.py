"""What runs outside the sandbox may not lie where the command writes: next time it would run what that wrote.

Python takes modules from the directory it is started in too, unless it is started with -P. Source: python(1).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from runners.contract import Policy


def exposed(policy: Policy, *programs: str) -> Path | None:
    """The first thing of ours that the command could change, None where there is none.

    What is protected or hidden it cannot.
    """
    guarded = (*policy.protected, *policy.hidden)
    for path in _ours(*programs):
        if path.is_relative_to(policy.workspace) and not any(path.is_relative_to(each) for each in guarded):
            return path
    return None


def _ours(*programs: str) -> Iterator[Path]:
    """Programs, the places of modules and the modules themselves: as they are named, and where links lead."""
    loaded = (getattr(module, "__file__", None) for module in tuple(sys.modules.values()))
    places = (sys.executable, *programs, *sys.path, *filter(None, loaded))
    for text in dict.fromkeys(map(os.path.abspath, places)):
        yield Path(text)
        yield Path(os.path.realpath(text))
