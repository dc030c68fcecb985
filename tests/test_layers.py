"""What import-linter cannot say (its contracts stand in pyproject.toml): what a command loads when it runs."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("submission", "starter", "baselines", "oracle", "leaderboard")
HOST = {
    *("numpy", "jinja2", "markupsafe"),
    *("typer", "annotated_doc", "shellingham", "rich", "pygments", "markdown_it", "mdurl"),
    *("pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"),
}
"""What `pip install numpy jinja2 typer pydantic` brings to a scoring host; .ci/run has commands run on one."""


RUN = """
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

absent, commands = json.loads(sys.argv[1])
sys.meta_path.insert(0, Absent())
import unseen
for code, *arguments in commands:
    sys.argv = ["unseen", *arguments]
    try:
        unseen.main()
        ended = 0
    except SystemExit as end:
        ended = end.code or 0
    assert ended == code, (arguments, ended)
"""


def run_without(absent: Iterable[str], commands: list[list[object]]) -> str:
    """Run commands, each after its exit code, in one process that finds no such packages."""
    given = json.dumps([sorted(absent), commands])
    done = subprocess.run([sys.executable, "-c", RUN, given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "command",
    ["audit contest", "export datacv contest new", "verify-entry contest test.csv --method atc"],
)
def test_a_scoring_host_is_told_in_a_line_what_a_command_needs(contest, monkeypatch, command):
    """A Python that finds the files of the four packages alone, and those of the kit."""
    monkeypatch.chdir(contest.root.parent)
    host = Path("host")
    host.mkdir()
    for path in Path(np.__file__).parents[1].iterdir():
        if path.name.partition("-")[0].partition(".")[0].lower() in {*HOST, "unseen"}:
            (host / path.name).symlink_to(path)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{host.absolute()}"}
    words = [sys.executable, "-S", "-m", "unseen", *command.split()]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    *_, line = done.stderr.splitlines()
    needed = line.partition(": pip install ")[2].split()
    assert {"torch", "opencv-python-headless", "scikit-learn", "pandas"} <= set(needed)
    assert not {"numpy", "typer", "pytest", "tomli"} & set(needed)
    assert not Path("new").exists()


def test_commands_that_print_text_load_no_torch(contest, monkeypatch):
    monkeypatch.chdir(contest.root.parent)
    right = ("methods", "methods --track ood", "new-method own_way", "build --help", "predict --help")
    wrong = ("predict nowhere", "predict contest atk", "report contest atk", "predict contest atc --set atc")
    ends = (*((0, line) for line in right), *((2, line) for line in (*wrong, "build")))
    text = run_without({"torch", "torchvision", "lightgbm"}, [[code, *line.split()] for code, line in ends])
    assert "ora-a.iterations=" in text
    assert "did you mean atc?" in text
    assert "is not installed" not in text


def test_no_pickle_eval_or_extractall():
    for package in (*PACKAGES, "unseen"):
        for module in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
                match node:
                    case ast.Import() | ast.ImportFrom():
                        names = re.findall(r"\w+", ast.unparse(node))
                        assert not {*names} & {"pickle", "joblib", "dill", "shelve", "marshal"}, module
                    case ast.Call(func=ast.Name(id=name)):
                        assert name not in ("eval", "exec"), module
                    case ast.Call(func=ast.Attribute(attr=name)):
                        assert name != "extractall", module


LATE = """
import contextlib, io, sys, unseen

def loaded(*names):
    return [name for name in names if name in sys.modules]
assert not loaded("numpy", "typer", "submission", "pandas")
sys.argv = ["unseen", "--help"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    unseen.main()
assert not loaded("numpy", "pydantic")
import submission, starter.models.encoders, unseen.estimation
assert not loaded("torch", "sklearn", "scipy", "pandas")
import baselines, oracle, baselines.run.choose
assert not loaded("torch", "lightgbm", "cv2", "matplotlib", "numba")
import starter.models.classifiers, starter.observing.detectors
starter.models.classifiers.new_network("dla34", 2)
assert not loaded("torchvision", "pytorch_ood", "lightgbm")
from baselines.contract.regressors import make_regressor
make_regressor("lightgbm")
names = list(sys.modules)
assert names.index("torch") < names.index("lightgbm")
"""


@pytest.mark.slow
def test_libraries_are_imported_only_when_they_are_used_and_lightgbm_after_torch():
    """The help needs no NumPy, methods are listed without torch, a network or a detector needs its own alone."""
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
