"""About the tests: those of a scoring host load no torch, and none is passed over."""

import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_tests_of_submission_and_leaderboard_load_no_torch(tmp_path):
    """Where an import of torch fails, all of them are collected, and none asks for a competition to be built."""
    (tmp_path / "torch.py").write_text("raise ImportError('torch is not for these tests')\n")
    command = "-m pytest -q -p no:cacheprovider --setup-plan tests/submission tests/leaderboard"
    planned = subprocess.run(
        [sys.executable, *command.split(), f"--basetemp={tmp_path / 'run'}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert planned.returncode == 0, planned.stdout
    assert "SETUP    F competition" in planned.stdout
    assert "SETUP    S weights" not in planned.stdout


def test_no_folder_of_tests_is_passed_over(request):
    """By its name, as pytest does with `build` unless it is told otherwise."""
    config = request.config
    left_out = config.getini("norecursedirs")
    folders = [path for top in config.getini("testpaths") for path in (ROOT / top).rglob("*/")]
    names = {path.name for path in folders if path.is_dir() and path.name != "__pycache__"}
    assert {"build", "studies"} <= names
    assert [name for name in names if any(fnmatch(name, pattern) for pattern in left_out)] == []
