"""Runs a small selection in this very process, without pytest: for `explain`, and for a sandbox's author."""

from __future__ import annotations

import contextlib
import os

from matrix import world
from matrix.ledger import Run
from matrix.model import Cell
from matrix.record import amended
from matrix.selection import Selection
from matrix.session import Session
from matrix.sweep import adopt_orphans, raise_limit, sweep, sweep_earlier


def solo(selection: Selection) -> list[Cell]:
    """The cells of the selection, in its order; nothing of the run is left afterwards."""
    sweep_earlier()
    adopt_orphans()
    raise_limit()
    if os.geteuid() == 0:
        with contextlib.suppress(world.WorldError):
            world.enter()
    session = Session(selection=selection, run=Run.create(selection.identity))
    try:
        cells = [session.cell(unit, case, unit.cases) for unit in selection.units for case in unit.cases]
        session.settle()
        return list(amended(cells, session.amends))
    finally:
        session.close()
        sweep(session.run)
