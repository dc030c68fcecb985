"""Every code block of the README and of docs/ runs, in a folder of its own; every command named there exists."""

import re
import sys

import pytest
from audits import unguessable
from built import linked
from pages import EXCUSE, PAGES, ROOT, Block, blocks, named_commands, run_page, unknown
from smaller import shorter, smaller

from starter.classifiers import read_classifier

BUILT = {
    "README.md": "unseen-demo",
    "docs/results/incremental-shift.md": "unseen-demo",
    "docs/how-to/hidden-labels.md": "contest",
    "docs/how-to/publishing.md": "contest",
    "docs/how-to/verifying.md": "contest",
}
"""Pages whose reader has built a competition before the blocks that are run here, and its name."""
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
RUNNABLE = [name for name in NAMES if any(block.runs for block in blocks(ROOT / name))]


@pytest.fixture
def quick(weights, monkeypatch):
    """`small` is not trained again for each page, another network for one epoch, and the demo is small."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr("starter.making.build.kept_small", lambda *_, **__: read_classifier(weights).network)
    monkeypatch.setattr("starter.classifiers.train.train", shorter)
    monkeypatch.setattr("unseen.cli.demo.DEMO_ORACLE", {"iterations": 20, "batch_size": 100})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder of a page; modules that are imported from it are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNNABLE)
def test_the_blocks_of_a_page_run(name, folder, built, quick, monkeypatch):
    monkeypatch.setattr("starter.making.build.build", smaller)
    monkeypatch.setattr("unseen.api.contest.make", smaller)
    if name in BUILT:
        linked(built.root, folder / BUILT[name])
        unguessable(folder / BUILT[name])
    run_page(ROOT / name, folder)


@pytest.mark.parametrize("name", RUNNABLE)
def test_what_a_page_builds_is_large_enough_to_rank(name):
    """Ten public predictions, of sets whose noise does not hide the shifts, as `audit` asks for."""
    lines = [line for block in blocks(ROOT / name) if block.runs for line in block.lines()]
    for line in lines:
        if line.startswith("unseen build") and not EXCUSE.search(line):
            sizes = {name: int(size) for name, size in re.findall(r"--(test-sets|set-size) (\d+)", line)}
            assert sizes.get("test-sets", 40) >= 36 or "--test-from" in line, line
            assert sizes.get("set-size", 100) >= 100, line


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_that_a_page_names_exist_with_their_options(name):
    problems = {command: unknown(command) for command in named_commands(ROOT / name)}
    assert not {command: word for command, word in problems.items() if word}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_no_blocks_in_languages_that_nothing_runs(name):
    found = blocks(ROOT / name)
    assert {block.language for block in found} <= {"sh", "bash", "python", "", "text", "csv", "json"}
    assert not [block for block in found if block.hides_commands]


def test_what_is_unknown_is_named():
    assert unknown("unseen build x --train-sets 3 --help") == ""
    assert unknown("unseen build x --sets 3") == "--sets"
    assert unknown("unseen bild x") == "bild"
    assert unknown("python benchmarks/speed/demo.py --track ood") == ""
    assert unknown("python benchmarks/speed/demo.py --trak ood") == "--trak"
    assert unknown("python benchmarks/none.py") == "benchmarks/none.py"


def test_directives_are_no_blocks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```{image} x.svg\n```\n\n```sh\nunseen methods\n```\n")
    assert [(block.language, block.line) for block in blocks(page)] == [("sh", 4)]


def test_a_block_is_excused_with_a_reason_only():
    assert Block("sh", "# Not run here: downloads CIFAR-10\nunseen x\n", 1).excused
    assert not Block("sh", "# Not run here:\nunseen x\n", 1).excused
    last = Block("sh", "unseen x  # Not run here: downloads CIFAR-10\n", 1)
    assert (last.excused, last.runs) == (False, False)
    assert Block("", "a table\nunseen build x\n", 1).hides_commands
    assert Block("sh", "# a comment\nunseen x \\\n    --y 1\n\nunseen z  # why\n", 1).lines() == [
        "unseen x --y 1",
        "unseen z  # why",
    ]
