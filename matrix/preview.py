"""`run --plan`: what a run would plant and start, and as whom. Starts nothing."""

from __future__ import annotations

from collections import Counter

from matrix.selection import Selection


def preview(selection: Selection) -> None:
    """Print the plan of a run."""
    identity = selection.identity
    print(f"as {identity.name} (uid {identity.uid}), on {selection.platform}")
    print("each unit: control launch, sandbox launch, control launch; rows not held are tried again alone")
    print("egress: in one launch the lists are renewed for each row; decision: nothing is launched\n")
    for backend in selection.backends:
        mine = [unit for unit in selection.units if unit.backend.id == backend.id]
        rows = sum(len(unit.cases) for unit in mine)
        print(f"{backend.id} ({backend.title}): {rows} rows in {len(mine)} units, runner {backend.runner}")
        for unit in mine:
            print(f"  {unit.key}: {len(unit.cases)} row{'s' if len(unit.cases) > 1 else ''}")
    cases = {case.id: case for unit in selection.units for case in unit.cases}.values()
    print("\nplanted, for each of the three arms, and taken away afterwards:")
    planted = Counter((case.witness, case.place) for case in cases if case.witness)
    for (witness, place), count in sorted(planted.items()):
        print(f"  {witness} ({place}): {count}")
    needs = [case.id for case in cases if case.place in {"root-owned", "second-mount", "run"}]
    print(f"\nas root only, or partly: {', '.join(needs) or 'nothing'}")
    inside = sorted({unit.key for unit in selection.units if unit.needs_world})
    print(f"in a network namespace of the run's own: {', '.join(inside) or 'nothing'}")
