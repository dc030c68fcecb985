"""The report: its numbers are those of a plain computation, its intervals draw families, its page is safe."""

import base64
import csv
import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from rules import with_fields
from scipy.stats import spearmanr
from sklearn.metrics import mean_squared_error

from baselines import BASELINES, OOD_BASELINES
from baselines.report.page import draw_indicator, draw_predictions, write_report
from baselines.report.report import run_report
from submission import UnusableInput
from submission.scoretable import ALL

METHODS = ("constant", "confscore", "atc", "fd")


@pytest.fixture(scope="module")
def report(built):
    return run_report(built, {name: BASELINES[name] for name in METHODS})


def test_a_line_is_what_scikit_learn_and_scipy_compute(report):
    lines = {(line.method, line.group): line for line in report.lines}
    assert {group for _, group in lines} == {ALL, *(group for group, _ in report.groups)}
    for run in report.runs:
        true, line = report.val["tiny"], lines[run.method, ALL]
        assert line.sets == 6
        np.testing.assert_allclose(line.rmse, 100 * math.sqrt(mean_squared_error(true, run.predicted)))
        if run.method != "constant":
            np.testing.assert_allclose(line.spearman, spearmanr(run.predicted, true).statistic)
            np.testing.assert_allclose(line.r_squared, np.corrcoef(run.predicted, true)[0, 1] ** 2)
    best = lines["constant", ALL]
    assert best.skill == 0
    assert math.isnan(best.spearman)
    for method in METHODS:
        parts = [lines[method, group] for group in {group for group, _ in report.groups}]
        pooled = sum(part.rmse**2 * part.sets for part in parts) / sum(part.sets for part in parts)
        np.testing.assert_allclose(lines[method, ALL].rmse, math.sqrt(pooled))


def test_coverage_is_told_of_methods_that_are_not_fitted_again_for_it(built, report):
    lines = {line.method: line for line in report.lines if line.group == ALL}
    assert np.isnan([lines["constant"].held, lines["constant"].width]).all()
    for run in (run for run in report.runs if run.method != "constant"):
        low, high = np.transpose(run.intervals)
        assert lines[run.method].held == np.mean((low <= report.val["tiny"]) & (report.val["tiny"] <= high))
        assert lines[run.method].width == pytest.approx(100 * np.mean(high - low))
    asked = run_report(built, {"constant": BASELINES["constant"]}, intervals=True)
    assert 0 <= asked.lines[0].held <= 1


def test_predictions_are_those_of_predict(contest, report):
    from baselines.run.predict import predict
    from submission.scoring import validate

    files = predict(contest, {"atc": BASELINES["atc"]})
    assert list(validate(contest, files["atc"]["val"], "val").values()) == pytest.approx(
        next(run for run in report.runs if run.method == "atc").predicted.tolist()
    )


def test_only_regressions_on_one_indicator_have_one(report):
    found = {run.method: run.indicators for run in report.runs if run.indicators is not None}
    assert list(found) == ["confscore", "fd"]
    values, line = found["confscore"].T
    train = report.train["tiny"]
    slope, intercept = np.polyfit(values[: len(train)], train, 1)
    np.testing.assert_allclose(line, np.clip(slope * values + intercept, 0, 1), atol=1e-9)
    axes = Figure().subplots()
    draw_indicator(axes, report, report.runs[1])
    drawn = [each.get_offsets().shape[0] for each in axes.collections]
    assert drawn[0] == len(train)
    assert sum(drawn[1:]) == len(report.val["tiny"])


def test_files_hold_every_line_and_the_same_bytes_each_time(report, tmp_path):
    html, table = write_report(report, tmp_path)
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
    assert [(row["method"], row["group"]) for row in rows] == [(x.method, x.group) for x in report.lines]
    assert float(rows[0]["rmse"]) == pytest.approx(report.lines[0].rmse, abs=1e-4)
    before = html.read_bytes(), table.read_bytes()
    write_report(report, tmp_path)
    assert (html.read_bytes(), table.read_bytes()) == before
    figures = re.findall(rb'src="data:image/svg\+xml;base64,([^"]+)"', before[0])
    assert len(figures) == len(METHODS) + 2, "predictions of all, indicators of two"
    assert all(b"</svg>" in base64.b64decode(each) for each in figures)
    assert before[0].count(b'href="data:image/jpeg;base64,/9j/') == len(report.val["tiny"])
    assert b"http://" not in before[0]
    assert b"By group</button>" in before[0]
    assert b"95 % interval</button>" not in before[0], "six families: no interval"


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "=1+1", "my:Own"])
def test_names_are_no_mark_up_and_no_formula(report, tmp_path, name):
    html, table = write_report(replace(report, runs=(replace(report.runs[0], method=name),)), tmp_path)
    page = html.read_text(encoding="utf-8")
    assert page.count("<script>") == 1, "the page's own"
    assert ('class="name">my:<wbr>Own<' in page) == (name == "my:Own"), "a name breaks between its words"
    assert "alert(1)</script>" not in page
    rows = csv.DictReader(io.StringIO(table.read_text(encoding="utf-8")))
    assert {row["method"] for row in rows} == {"constant", f"'{name}" if name.startswith("=") else name}


def test_nothing_hidden_is_needed_and_validation_sets_are(contest):
    for path in sorted(contest.private.iterdir()):
        path.unlink()
    run_report(contest, {"atc": BASELINES["atc"]})
    empty = with_fields(contest, sizes={**contest.sizes, "val": {}})
    with pytest.raises(UnusableInput, match="has no validation sets to report on"):
        run_report(empty, {"atc": BASELINES["atc"]})


def test_the_report_of_detectors_speaks_of_their_metric(ood_contest, tmp_path):
    found = run_report(ood_contest, {name: OOD_BASELINES[name] for name in ("constant", "gscore-kmeans")})
    html, _ = write_report(found, tmp_path)
    page = html.read_text(encoding="utf-8")
    subject = ood_contest.subjects[0]
    quantity = ood_contest.quantity(subject)
    assert quantity != "accuracy"
    assert f"predicted against true {quantity}" in page
    assert f"{quantity} on meta-train sets" in page
    assert "accuracy" not in page.lower().replace(ood_contest.name.lower(), "")
    axes = Figure().subplots()
    draw_predictions(axes, found, found.runs[0])
    assert [axes.get_xlabel(), axes.get_ylabel()] == [f"true {quantity}, %", f"predicted {quantity}, %"]


@pytest.mark.parametrize("names", [("constant",), METHODS])
def test_public_files_are_read_once_however_many_methods_there_are(contest, monkeypatch, names):
    read, real = [], type(contest).data
    monkeypatch.setattr(type(contest), "data", lambda self, file: read.append(file) or real(self, file))
    report = run_report(contest, {name: BASELINES[name] for name in names})
    assert report.lines
    assert all(report.rmse(name) > 0 for name in names)
    assert {read.count(file) for file in ("val/groups.csv", "val/targets.csv", "train/targets.csv")} == {1}
