"""What would show that the harness is blind: complaints about a report, for test_not_blind.py.

A column that closes nothing must let out every row whose control is seen. What is excused stands in a
table here or, for a sandbox, in its column's `listed`: a new silence is a complaint.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from matrix.model import Backend, Case, Cell, Escaped, Held, Reason, Untested
from matrix.record import Report
from matrix.report import jsonl
from matrix.switches import USER_NAMESPACES, defeating
from runners.contract import Channel

WHY_NO_CONTROL = {
    # a file system where a second spelling is a second file
    "path-name-alias-case": "case gives a file no second name",
    # a module that the kernel was built without
    "lo-alt-protocols-sctp": "protocol 132: Protocol not supported",
    # the terminal is no virtual console, which Linux asks for before anything else
    "tty-tioclinux": "ioctl: ENOTTY",
    # rights that only root has
    "path-(dotdot-read|absolute-write)-root-owned": "only root can plant in /srv",
    "path-(dotdot-read|absolute-write)-second-mount": "only root can make a second mount",
    "path-name-alias-bind": "cannot mount a directory twice: .*must be superuser",
    "proc-fresh-mount-unmask": "mount: EPERM",
    "proc-fresh-mount-unmask-fsopen": "fsopen: EPERM",
    "tty-reacquire-force": "ioctl: EPERM",
    # a directory that an account has while somebody is logged in
    "(path-dotdot-read|path-absolute-write|ux-pathname-connect)-run": "has no runtime directory in /run/user",
}
"""Rows whose control fails on some machine or for some account → what it then says."""

OUT_OF_REACH = {"firejail": "firejail is set-uid root, which gains nothing in a user namespace"}
"""Runners that an ordinary account cannot start in the network world → what they say there."""


RECORDS = frozenset({Channel.RECORDS})
"""What nothing that allows everything can have: records of refusals."""

OUTSTAYED = "the launcher stayed"
"""What is said of leftovers that ended by themselves while a patient launcher waited for them."""


def run(out: Path, *arguments: str) -> Report:
    """One run of the harness as this account, in a process of its own; its report is complete."""
    command = [sys.executable, "-m", "matrix", "run", "-n", "4", "--out", str(out), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    report = jsonl.read(out / "report.jsonl")
    assert report.complete, (report.faults, done.stdout[-2000:], done.stderr[-2000:])
    return report


def excused(case: Case, cell: Cell, facts: Mapping[str, str]) -> bool:
    """Whether it is known of this machine and account that the row's control fails, or that it has none."""
    match cell.verdict:
        case Untested(reason=Reason.CONTROL_FAILED, evidence=said):
            known = (why for rows, why in WHY_NO_CONTROL.items() if re.fullmatch(rows, case.id))
            return any(re.search(why, said) for why in known) or bool(defeating(facts, case.switches))
        case Untested(reason=Reason.NO_WORLD):
            return case.world and bool(defeating(facts, USER_NAMESPACES))
        case _:
            return False


def silences(report: Report, column: Backend, cases: Mapping[str, Case]) -> Iterator[str]:
    """What a column that closes nothing kept back without saying why; reasons that are none any more."""
    leg = report.header.leg
    told = {cell.case for cell in report.cells if cell.backend == column.id}
    for case in cases.values():
        if leg.platform in case.platforms and case.id not in told:
            yield f"{case.id}: no cell"
    for cell in report.cells:
        if cell.backend != column.id:
            continue
        case, listed = cases[cell.case], column.listed.get(cell.case)
        applies = listed is not None and listed.holds(leg.identity)
        match cell.verdict:
            case Escaped() if applies and listed.only != "sometimes":
                yield f"{cell.case}: stale, it escapes and is listed: {listed.why}"
            case Escaped():
                continue
            case Held() if applies or case.allowed:  # what must get through is held by getting through
                continue
            case Untested(reason=Reason.OVER_REFUSED) if case.allowed and case.subject == "decision":
                continue  # beside what must be allowed stands what must not be, and all is
            case Untested(evidence=said) if applies and OUTSTAYED in said:
                continue
            case Untested(reason=Reason.NO_CHANNEL) if column.runner != "command" or RECORDS & case.channels:
                continue
            case Untested(reason=Reason.NOT_INSTALLED, evidence=said) if case.world and _afar(column, said):
                continue
            case verdict if not excused(case, cell, report.header.host):
                yield f"{cell.case}: {verdict}"


def _afar(column: Backend, said: str) -> bool:
    return column.runner in OUT_OF_REACH and OUT_OF_REACH[column.runner] in said


def misses(
    report: Report, column: str, lost: Collection[str], whole: str, cases: Mapping[str, Case]
) -> Iterator[str]:
    """Where taking a protection away from the column `whole` did not let out exactly the rows of `lost`."""
    cells = {(cell.backend, cell.case): cell for cell in report.cells}
    for case in sorted({*report.column(column).cases, *lost}):
        if (column, case) not in cells:
            yield f"{case}: no cell"
            continue
        restored, without = cells[whole, case], cells[column, case]
        if excused(cases[case], restored, report.header.host):
            continue
        if not isinstance(restored.verdict, Held):
            yield f"{case}: with every protection: {restored.verdict}"
        if isinstance(without.verdict, Escaped) is not (case in lost):
            yield f"{case}: {'expected' if case in lost else 'not expected'} to escape: {without.verdict}"
