"""Every script can be imported; small runs of the attacks."""

import runpy
import subprocess
import sys
from pathlib import Path

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
