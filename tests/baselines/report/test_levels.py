"""Errors by cell and level against plain loops."""

import csv
import io

import numpy as np
import pytest

from baselines.report.html import write_report
from baselines.report.levels import error_grid, levels_csv, on_grid
from baselines.report.report import Report, Run
from starter.shift.grid import cell_name

CELLS = [(0, 0), (0, 0), (1, 0), (1, 3), (7, 7), (2, 3)]


@pytest.fixture
def report(contest):
    rng = np.random.default_rng(0)
    groups = tuple((f"c{c + 1}", cell_name(s, c)) for s, c in CELLS)
    val = {"tiny": rng.uniform(size=len(CELLS))}
    runs = tuple(Run(name, "tiny", rng.uniform(size=len(CELLS)), None) for name in ("constant", "atc"))
    return Report(contest, groups, {"tiny": rng.uniform(size=9)}, val, runs)


def test_a_cell_is_the_mean_over_its_sets(report):
    run = report.runs[1]
    errors = 100 * (run.predicted - report.val["tiny"])
    for of in (np.abs, np.positive):
        found = error_grid(report, run, of)
        for s in range(8):
            for c in range(8):
                mine = [of(error) for error, cell in zip(errors, CELLS, strict=True) if cell == (s, c)]
                assert found[c, s] == pytest.approx(np.mean(mine) if mine else np.nan, nan_ok=True)


def test_levels_are_means_over_cells(report):
    rows = list(csv.DictReader(io.StringIO(levels_csv(report))))
    assert len(rows) == 2 * 2 * 8
    errors = abs(100 * (report.runs[1].predicted - report.val["tiny"]))
    found = {(row["axis"], row["level"]): row for row in rows if row["method"] == "atc"}
    assert float(found["semantic", "2"]["mae"]) == pytest.approx((errors[2] + errors[3]) / 2, abs=1e-3)
    assert found["covariate", "1"]["sets"] == "3"
    expected = ((errors[0] + errors[1]) / 2 + errors[2]) / 2
    assert float(found["covariate", "1"]["mae"]) == pytest.approx(expected, abs=1e-3)
    assert found["covariate", "2"]["mae"] == ""


def test_the_page_shows_them_for_cells_alone(report, tmp_path):
    page = write_report(report, tmp_path)[0].read_text()
    assert "Mean absolute error by shift level" in page
    assert (tmp_path / "report_levels.csv").is_file()
    plain = Report(
        report.competition, (("unseen", "fog"), *report.groups[1:]), report.train, report.val, report.runs
    )
    assert not on_grid(plain)
    page = write_report(plain, tmp_path / "plain")[0].read_text()
    assert "by shift level" not in page
    assert not (tmp_path / "plain/report_levels.csv").exists()
