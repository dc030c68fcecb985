"""A small version of benchmarks/attacks/hostile.py: hostile files are refused in words, harmless variants accepted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_hostile_files_are_refused_without_a_fault(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/attacks/hostile.py", "--files", "250", "--seed", "1"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(
        "250 files: 0 crashes, 0 tracebacks, 0 accepted wrongly, 0 refused wrongly, 0 leaks"
    )
