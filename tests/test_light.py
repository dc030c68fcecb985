"""What runs on a scoring host is tested without torch, and so are its tests."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_tests_of_submission_and_leaderboard_load_no_torch(tmp_path):
    """Where an import of torch fails, all of them are collected, and some of either package pass."""
    (tmp_path / "torch.py").write_text("raise ImportError('torch is not for these tests')\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--basetemp={tmp_path / 'run'}",
    ]
    ran = subprocess.run(
        [*command, "tests/submission", "tests/leaderboard", "-k", "test_solution or test_submit"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
