"""docs/results/papers.md names every table and figure of the five papers, with pages that exist."""

import re

import pytest
from pages import ROOT

from baselines.report import gscore
from oracle import ablate

PAGE = ROOT / "docs/results/papers.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ")
][1:]
TABLES = {"SYP": "1 2 3 4 5", "Gscore": "1 2 3 4 5 6", "FACETS": "I II III IV V VI VII"}
TABLES |= {"IS-OOD": "1 2 3 4 5 6 7", "ImageNet-OOD": "1 2 3 4"}
FIGURES = {"SYP": 10, "Gscore": 12, "FACETS": 4, "IS-OOD": 19, "ImageNet-OOD": 13}
REASONS = ("not there: ", "no table here", "no picture here")


@pytest.mark.parametrize("paper", TABLES)
def test_the_page_has_all_tables_and_figures(paper):
    figures = (str(number + 1) for number in range(FIGURES[paper]))
    for kind, numbers in (("table", TABLES[paper].split()), ("figure", figures)):
        rows = " ".join(what for name, what, *_ in ROWS if name == paper and what.startswith(kind))
        assert {*re.findall(r"\b(?:\d+|[IVX]+)\b", rows)} == {*numbers}


def test_a_row_leads_to_a_page_or_says_why_not():
    for paper, what, command, page, difference in ROWS:
        links = re.findall(r"\(([^)]+)\)", page)
        assert paper in TABLES
        assert all((PAGE.parent / link).is_file() for link in links)
        assert links or any(reason in difference for reason in REASONS), what
        assert command or difference.startswith("not there: "), what


@pytest.mark.parametrize(("paper", "tables"), [("SYP", ablate.TABLES), ("Gscore", gscore.TABLES)])
def test_the_tables_that_ablate_makes_are_those_of_the_page(paper, tables):
    """All but the kit's own."""
    commands = " ".join(command for name, _, command, *_ in ROWS if name == paper)
    assert {*re.findall(r"--table ([\w-]+)", commands)} == {*tables} - {"near-far"}
