"""A Python that has NumPy and pandas only, as the platforms' scoring hosts may; submissions of known error."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from exports import Bare

from submission import Competition, write_predictions
from submission.solution import solution_of

NEEDED = ("numpy", "numpy.libs", "pandas", "pandas.libs", "dateutil", "pytz", "six.py", "tzdata")
"""What pip installs for `numpy` and `pandas`."""


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """Run Python without anything installed but NumPy and pandas."""
    site = tmp_path_factory.mktemp("site")
    spec = importlib.util.find_spec("numpy")
    assert spec is not None
    assert spec.origin is not None
    installed = Path(spec.origin).parents[1]
    for name in NEEDED:
        if (installed / name).exists():
            (site / name).symlink_to(installed / name)
    environment = {"PYTHONPATH": str(site), "PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"}

    def run(*arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-S", *map(str, arguments)],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def ranked(competition: Competition, tmp_path: Path) -> dict[str, Path]:
    """An oracle's file, a baseline's and the constant's: errors of about 1 and 5 points, and 0.5 everywhere."""
    truth = {row.id: row.prediction for row in solution_of(competition)}
    signs = [1 if i % 3 else -1 for i in range(len(truth))]
    values = {
        "oracle": {name: t + 0.01 * s for (name, t), s in zip(truth.items(), signs, strict=True)},
        "baseline": {name: t + 0.0531 * s for (name, t), s in zip(truth.items(), signs, strict=True)},
        "constant": dict.fromkeys(truth, 0.5),
    }
    paths = {name: tmp_path / f"{name}.csv" for name in values}
    for name, path in paths.items():
        write_predictions(path, values[name])
    return paths
