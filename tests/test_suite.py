"""About the tests: those of a scoring host load no torch."""

import os
import subprocess
import sys
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
