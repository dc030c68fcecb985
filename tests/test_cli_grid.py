"""The command line on grids of shifts: detectors on one, and a competition of its cells."""

import csv
import re

import pytest
from command_line import run
from laids import random_laid


@pytest.fixture
def folder(contest, monkeypatch):
    """The working folder, with a competition in `contest` and a LAID matrix in `laid`."""
    monkeypatch.chdir(contest.root.parent)
    random_laid()[1].save(contest.root.parent / "laid")
    return contest.root.parent


def test_detectors_on_a_grid(folder, ood_folder):
    options = ("--ood", ood_folder, "--images", "600", "--levels", "4", "--least", "5", "--detector", "msp")
    text = run("grid", "contest", "--encoder", "laids:encoder", "--referee", "laid", *options).text
    assert "corr. fitted" in text
    assert "contest/grid/report.html" in text
    with (folder / "contest/grid/cells.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 16


def test_a_competition_of_cells_from_build_to_report(folder, weights):
    sizes = ("--train-sets", "6", "--val-sets", "8", "--test-sets", "8", "--set-size", "30")
    grid = ("--grid", "laids:encoder", "--referee", "laid", "--classifier", f"tiny={weights}")
    run("build", "cells", *sizes, *grid)
    run("predict", "cells", "constant", "atc")
    assert re.search(r"Spearman( +c\d)+\n", run("leaderboard", "cells").text)
    run("report", "cells", "constant", "atc")
    assert "by shift level" in (folder / "cells/report.html").read_text()
    assert "errors: 0" in run("audit", "cells").text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("grid", "contest", "--images", "300", "--encoder", "nowhere"), "nowhere is no encoder"),
        (
            ("grid", "contest", "--images", "300", "--referee", "nothing", "--encoder", "laids:encoder"),
            "nothing is no LAID matrix",
        ),
        (("grid", "contest", "--levels", "1"), "--levels must be"),
        (("grid", "nowhere"), "nowhere"),
        (("build", "new", "--referee", "laid", "--dry-run"), "--referee belongs to --grid"),
        (("build", "new", "--grid", "embedded", "--val-from", "x", "--dry-run"), "leave --val-from out"),
    ],
)
def test_mistakes_get_one_clear_line(folder, arguments, message):
    found = run(*arguments, check=False)
    assert found.code == 2
    assert message in found.text
    assert found.text.count("error:") == 1
