"""The notebook runs from its first cell to its last, and is kept without outputs."""

from pathlib import Path

import nbclient
import nbformat
import pytest

import starter

NOTEBOOK = Path(starter.__file__).parents[1] / "docs/tutorials/quickstart.ipynb"


@pytest.fixture
def book():
    return nbformat.read(NOTEBOOK, as_version=4)


def test_it_is_kept_without_outputs(book):
    nbformat.validate(book)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)


@pytest.mark.slow
def test_it_runs_and_ends_with_a_leaderboard(book, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(starter.__file__).parents[1]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    client = nbclient.NotebookClient(book, timeout=500, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    pictures = [o for cell in book.cells for o in cell.get("outputs", ()) if "image/png" in o.get("data", {})]
    assert len(pictures) == 3
    assert (tmp_path / "quickstart/leaderboard.html").is_file()
