"""docs/results/papers.md names every table and figure of the five papers, with commands and pages that exist."""

import re
import shlex

import pytest
from command_line import run
from pages import ROOT, unknown

PAGE = ROOT / "docs/results/papers.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ")
][1:]
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII")
COUNTS = {"SYP": (5, 10), "Gscore": (6, 12), "FACETS": (7, 4), "IS-OOD": (7, 19), "ImageNet-OOD": (4, 13)}
"""Number of tables and of figures of each paper; FACETS numbers its tables in Roman."""
COMMANDS = sorted({cell.strip("`") for _, _, cell, _, _ in ROWS if cell})
REASONS = ("not there: ", "no table here", "no picture here")


def numbered(kind: str, paper: str) -> list[str]:
    return [
        number
        for name, what, *_ in ROWS
        if name == paper and what.startswith(kind)
        for number in re.findall(r"\b(?:\d+|[IVX]+)\b", what)
    ]


@pytest.mark.parametrize("paper", COUNTS)
def test_the_page_has_all_tables_and_figures(paper: str) -> None:
    tables, figures = ([str(1 + number) for number in range(count)] for count in COUNTS[paper])
    assert {*numbered("table", paper)} == {*(ROMAN if paper == "FACETS" else tables)}
    assert {*numbered("figure", paper)} == {*figures}


def test_all_rows_are_of_these_papers_and_lead_to_a_page_or_say_why_not() -> None:
    assert {row[0] for row in ROWS} == {*COUNTS}
    for _, what, command, page, difference in ROWS:
        assert re.match(r"(table|figure)s? ", what)
        links = re.findall(r"\(([^)]+)\)", page)
        assert all((PAGE.parent / link).is_file() for link in links)
        assert links or any(reason in difference for reason in REASONS), what
        assert command or difference.startswith("not there: "), what


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_and_its_options_exist(command: str) -> None:
    assert unknown(command) == ""
    assert "Usage: " in run(*shlex.split(command)[1:], "--help").text


def test_a_table_that_ablate_is_asked_for_exists() -> None:
    """Of the SYP paper or of the Gscore paper."""
    from baselines.report.gscore import TABLES
    from oracle import ablate

    for paper, there in (("SYP", ablate.TABLES), ("Gscore", TABLES)):
        commands = " ".join(command for name, _, command, *_ in ROWS if name == paper)
        assert {*re.findall(r"--table ([\w-]+)", commands)} == {*there} - {"near-far"}
