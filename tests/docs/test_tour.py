"""Every call that the tour names is there."""

import ast
import re

import pytest
from pages import ROOT

TEXT = (ROOT / "docs/design/tour.md").read_text(encoding="utf-8")
CALLS = re.findall(r"`([\w/]+\.py):(\w+)`", TEXT)


def test_there_are_twelve():
    assert len(CALLS) == 12


@pytest.mark.parametrize(("path", "name"), CALLS)
def test_a_call_stands_in_its_file(path, name):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("path", re.findall(r"`([\w/]+\.py)`", TEXT))
def test_a_file_is_there(path):
    assert (ROOT / path).is_file()
