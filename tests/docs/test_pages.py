"""Every code block of the README and of docs/, and every notebook, runs in a folder of its own; every command exists."""

import json
import re
import sys

import pytest
from audits import unguessable
from built import linked
from pages import PAGES, ROOT, blocks, named_commands, run_page, unknown
from smaller import shorter, smaller

import unseen
from baselines import OOD_BASELINES
from baselines.report import gscore

BUILT = {
    "README.md": "unseen-demo",
    "docs/results/incremental-shift.md": "unseen-demo",
    "docs/how-to/hidden-labels.md": "contest",
    "docs/how-to/publishing.md": "contest",
    "docs/how-to/verifying.md": "contest",
}
"""Pages whose reader has built a competition before the blocks that are run here, and its name."""
OOD_METHODS = ("constant", "gscore-ude-w")
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
RUNNABLE = [name for name in NAMES if any(block.runs for block in blocks(ROOT / name))]
NOTEBOOKS = sorted((ROOT / "docs/tutorials").glob("*.ipynb"))


@pytest.fixture
def folder(weights, tmp_path, monkeypatch):
    """The working folder of a page; modules that are imported from it are forgotten afterwards.

    Networks are trained for one epoch or a few steps, what is built is small, and two methods are ablated.
    """
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    monkeypatch.setattr("starter.models.classifiers.train.train", shorter)
    monkeypatch.setattr("starter.models.classifiers.networks.small.EPOCHS", 1)
    monkeypatch.setattr("starter.models.classifiers.networks.small.STEPS", 1)
    monkeypatch.setattr("unseen.cli.participant.DEMO_ORACLE", {"iterations": 20, "batch_size": 100})
    monkeypatch.setattr("starter.contest.build.build", smaller)
    monkeypatch.setattr("unseen.api.contest.make", smaller)
    monkeypatch.setattr(gscore, "OOD_BASELINES", {name: OOD_BASELINES[name] for name in OOD_METHODS})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("name", RUNNABLE)
def test_the_blocks_of_a_page_run(name, folder, built):
    if name in BUILT:
        linked(built.root, folder / BUILT[name])
        unguessable(folder / BUILT[name])
    told = run_page(ROOT / name, folder)
    if name.endswith("quickstart.md"):
        table = (
            "the sampling noise of the true values",
            "constant",
            "fd",
            "rotation",
            "ora-a",
            "noise floor",
        )
        assert not [word for word in table if word not in told], "the demo ends in a table"
        assert (folder / "unseen-demo/leaderboard.html").exists()


def code(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, folder):
    namespace = {"__name__": "notebook"}
    for cell in code(path):
        exec("".join(cell["source"]), namespace)
    assert list(folder.glob("*.csv"))


def test_notebooks_are_kept_with_their_outputs_and_use_the_librarys_names_alone():
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        cells = code(path)
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
        outputs = [output for cell in cells for output in cell["outputs"]]
        assert any("image/svg+xml" in output.get("data", {}) for output in outputs)
        assert not [
            each for each in outputs if each["output_type"] == "error" or each.get("name") == "stderr"
        ]
        text = "\n".join("".join(cell["source"]) for cell in cells)
        assert not re.findall(rf"\b(?:from|import) (?:{'|'.join(unseen.PACKAGES)})\b", text)
        assert set(re.findall(r"\bunseen\.(\w+)", text)) <= set(unseen.NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_names_commands_that_exist_and_has_no_blocks_that_nothing_runs(name):
    problems = {command: unknown(command) for command in named_commands(ROOT / name)}
    assert not {command: word for command, word in problems.items() if word}
    found = blocks(ROOT / name)
    assert {block.language for block in found} <= {"sh", "bash", "python", "", "text", "csv", "json"}
    assert not [block for block in found if block.hides_commands]
