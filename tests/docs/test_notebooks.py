"""The notebooks run from their first cell to their last, use the library's names alone, and are kept with their outputs.

To run them anew: `jupyter execute --inplace docs/tutorials/*.ipynb`, then take standard error out. Their charts are
kept as SVG, which is text: `set_matplotlib_formats("svg")` of matplotlib_inline makes them so.
"""

import os
import re
from pathlib import Path

import matplotlib
import nbclient
import nbformat
import pytest

import unseen
from starter.classifiers import read_classifier
from starter.making.small import kept_small
from starter.sources.glyphs.digits import glyph_splits

ROOT = Path(unseen.__file__).parent
NOTEBOOKS = sorted((ROOT / "docs/tutorials").glob("*.ipynb"))
PICTURES = {"idea": 4, "quickstart": 2}


def code(book):
    return [cell for cell in book.cells if cell.cell_type == "code"]


def pictures(book):
    kinds = {"image/png", "image/svg+xml"}
    return [o for cell in code(book) for o in cell.outputs if kinds & set(o.get("data", {}))]


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def book(path):
    return nbformat.read(path, as_version=4)


def test_it_is_kept_with_its_outputs(path, book):
    nbformat.validate(book)
    assert [cell.execution_count for cell in code(book)] == list(range(1, len(code(book)) + 1))
    assert len(pictures(book)) == PICTURES[path.stem]
    outputs = [output for cell in code(book) for output in cell.outputs]
    assert not [
        output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"
    ]


def test_it_uses_the_librarys_names_alone(book):
    text = "\n".join(cell.source for cell in code(book))
    assert "import unseen" in text
    assert not re.findall(rf"\b(?:from|import) (?:{'|'.join(unseen.PACKAGES)})\b", text)
    assert set(re.findall(r"\bunseen\.(\w+)", text)) <= set(unseen.NAMES)


@pytest.fixture
def kept(weights, tmp_path, monkeypatch):
    """The cache folder of a user for whom `small` has been trained: the tests' network is there in its place."""
    monkeypatch.setenv("MPLCONFIGDIR", matplotlib.get_cachedir())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("starter.making.small.train_small", lambda *_: read_classifier(weights).network)
    splits = glyph_splits(0)
    kept_small(splits.train, splits.classes, 0)
    return tmp_path / "cache/unseen/small"


START = "import smaller, starter.making.build; starter.making.build.build = smaller.smaller\n"
"""What the notebook's process does first: what is built there is smaller than the notebook says."""


@pytest.mark.slow
def test_it_runs(path, book, kept, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT), str(ROOT / "tests/shared"))))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    start = tmp_path / "ipython/profile_default/startup/start.py"
    start.parent.mkdir(parents=True)
    start.write_text(START, encoding="utf-8")
    place = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(book, timeout=500, startup_timeout=300, resources=place)
    client.execute()
    assert len(pictures(book)) == PICTURES[path.stem]
    assert list(tmp_path.glob("*.csv"))
    assert len(list(kept.iterdir())) == 1, "another network was trained"
