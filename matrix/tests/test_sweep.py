"""After a run nothing of it is left; and what is not the run's is left alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from matrix import ledger, places
from matrix.ledger import OWNER, Run
from matrix.sweep import carries, sweep, sweep_earlier
from matrix.witnesses.contract import Unplantable
from runners.contract import Identity

SLEEP = "import time; print('up', flush=True); time.sleep(60)"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(ledger, "base", lambda: tmp_path / "runs")
    return Run.create()


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # type: ignore[call-overload]
            [sys.executable, "-c", SLEEP, *arguments], stdout=subprocess.PIPE, **options
        )
        assert process.stdout.readline() == b"up\n"
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_survivors_are_known_by_arguments_or_working_directory(
    run: Run, start: Callable[..., object]
) -> None:
    by_argument = start(str(run.directory / "ws-1"), env={})
    by_folder = start(cwd=run.directory, env={})
    other = start()
    assert sweep(run) == []
    assert by_argument.poll() is not None
    assert by_folder.poll() is not None
    assert other.poll() is None
    assert not run.directory.exists()


def test_a_recorded_number_that_means_another_process_is_spared(
    run: Run, start: Callable[..., object]
) -> None:
    mine, stranger = start(), start()
    run.record("pid", f"{mine.pid} {psutil.Process(mine.pid).create_time()}")
    run.record("pid", f"{stranger.pid} {psutil.Process(stranger.pid).create_time() - 100}")
    assert sweep(run) == []
    assert mine.poll() is not None
    assert stranger.poll() is None


def test_paths_outside_are_taken_away(run: Run) -> None:
    folder = places.fresh(run, Identity.current(), "tmp")
    (folder / "canary").write_text("x")
    beside = places.fresh(run, Identity.current(), "beside")
    assert sweep(run) == []
    assert not folder.exists()
    assert not beside.exists()


def test_the_next_run_sweeps_after_a_kill(run: Run) -> None:
    folder = places.fresh(run, Identity.current(), "var-tmp")
    assert run.owned()
    sweep_earlier()
    assert folder.exists()
    (run.directory / OWNER).write_text(json.dumps({"pid": os.getpid(), "started": time.time() + 1000}))
    assert not run.owned()
    assert sweep_earlier() == []
    assert not folder.exists()
    assert not run.directory.exists()


def test_a_cut_off_ledger_line_does_not_stop_the_sweep(run: Run, tmp_path: Path) -> None:
    run.record("path", str(tmp_path / "a"))
    with (run.directory / ledger.LEDGER).open("a") as file:
        file.write('{"kind": "pa')
    (tmp_path / "a").write_text("x")
    assert sweep(run) == []
    assert not (tmp_path / "a").exists()


def test_this_process_does_not_carry_its_run(run: Run) -> None:
    assert not carries(psutil.Process(), run.directory)
    sweep(run)


def test_an_unknown_place_cannot_be_planted_in(run: Run) -> None:
    with pytest.raises(Unplantable, match="unknown place"):
        places.fresh(run, Identity.current(), "nowhere")
    sweep(run)


def test_one_thing_that_does_not_go_does_not_keep_the_others(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stays", "goes"):
        (tmp_path / name).write_text("x")
        run.record("path", str(tmp_path / name))
    unlink = Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - as in pathlib
        if path.name == "stays":
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok=missing_ok)

    run.record("path", str(tmp_path / "stays"))
    monkeypatch.setattr(Path, "unlink", refused)
    assert {f"path {tmp_path / 'stays'}: Permission denied"} == set(sweep(run))
    assert not (tmp_path / "goes").exists()
    assert not run.directory.exists()
