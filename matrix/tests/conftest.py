"""Fixtures of more than one file of tests."""

import secrets

import pytest

from matrix import sweep
from matrix.arm import witness_of
from matrix.ledger import Run
from matrix.tests.unconfined import ROWS
from matrix.witnesses.contract import Ground
from runners.contract import Identity


@pytest.fixture
def run(tmp_path):
    """A run, of which nothing is left at the end."""
    tmp_path.chmod(0o755)
    run = Run(tmp_path)
    yield run
    assert sweep.sweep(run) == []


@pytest.fixture
def witness(run):
    """The witness of a row, by its id; closed at the end."""
    made = []

    def fresh(mode):
        folder = run.directory / secrets.token_hex(4)
        folder.mkdir()
        folder.chmod(mode)
        return folder

    def make(name):
        ground = Ground(
            case=ROWS[name],
            arm="attempt",
            run=run.directory,
            workspace=run.directory,
            corner=fresh(0o755),
            identity=Identity.current(),
            record=run.record,
            place=lambda _: fresh(0o777),
        )
        made.append(witness_of(ROWS[name])(ground))
        return made[-1]

    yield make
    for each in made:
        each.close()
