"""The launcher's modules, as they find each other where they run: by their names alone."""

import sys

from runners.tier1.plan import LAUNCHER

sys.path.insert(0, str(LAUNCHER))
try:
    import cores
    import devices
    import guards
    import strangers
    import terminal
finally:
    sys.path.remove(str(LAUNCHER))

__all__ = ["cores", "devices", "guards", "strangers", "terminal"]
