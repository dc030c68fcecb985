"""Every script can be imported; small runs of the attacks."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*.py"))
PARTS = {"contest", "real", "shifts", "brought", "files", "models", "strangers", "tasks"}
"""What scripts import."""


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_finds_all_that_it_imports(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside it too, as `python benchmarks/...` does; nothing is run before it is asked to."""
    monkeypatch.syspath_prepend((FOLDER / script).parent)
    for each in SCRIPTS:
        monkeypatch.delitem(sys.modules, Path(each).stem, raising=False)
    assert "main" in runpy.run_path(str(FOLDER / script)) or Path(script).stem in PARTS


def test_scores_tell_who_knows_the_public_sets_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER / "attacks")
    shares_left = runpy.run_path(str(FOLDER / "attacks/feedback.py"))["shares_left"]
    rng = np.random.default_rng(0)
    truth, *errors = rng.normal(70, 10, (13, 200))
    methods = {
        "gated" if not number else str(number): truth + each - 70 for number, each in enumerate(errors)
    }
    known, unknown = (shares_left(truth, methods, 30, which, 0.1, 5) for which in (True, False))
    assert 1 > known[6] > known[15] > known[60]
    assert known[30] < unknown[30] < 1.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("rollback.py", "12 of 12 rollbacks refused"),
        ("kill.py --rounds 4", ": 0 lost, 0 doubled"),
        ("crowd.py --processes 3", "limit 2: 2 accepted"),
        ("hidden.py", "the same bytes under other labels"),
        ("hostile.py --files 60 --seed 1", "0 accepted wrongly, 0 refused wrongly, 0 leaks"),
        ("../strangers/release.py tables scores images models", "refused well"),
    ],
)
def test_an_attack_fails(command: str, found: str) -> None:
    script, *options = command.split()
    run = [sys.executable, FOLDER / "attacks" / script, *options]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found in done.stdout
