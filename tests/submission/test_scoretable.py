"""The table of scores: numbers worked out by hand, its families, and its printers."""

import json
import math

import numpy as np
import pytest
from rules import with_fields

from submission import UnusableInput
from submission.scoretable import (
    ALL,
    Families,
    Targets,
    constant_predictions,
    legend,
    score_cells,
    score_lines,
    score_validation,
)
from submission.solution import solution_of
from submission.table import csv_table, markdown_table, text_table

SIZES = (100, 100, 200, 200, 400, 400)


@pytest.fixture
def targets():
    """Six sets, `a` with three families of a set, `b` with one of three sets."""
    values = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
    ids = tuple(f"cnn/s{number}" for number in range(6))
    return Targets(ids, values, values * (1 - values) / SIZES, tuple("aaabbb"), tuple("xyzzzz"))


def off(targets, *points):
    """Predictions that are off by so many points."""
    return dict(zip(targets.ids, (targets.values + np.array(points) / 100).tolist(), strict=True))


def test_lines_are_by_group_and_best_first(targets):
    methods = {"constant": off(targets, *[10] * 6), "mine": off(targets, 5, -5, 5, 20, 20, 20)}
    lines = score_lines(targets, methods, "cnn")
    assert [line.method for line in lines] == ["constant", "mine", "mine", "constant", "constant", "mine"]
    for ranked in (lines[::2], lines[1::2]):
        found = [(line.group, line.sets, line.families) for line in ranked]
        assert found == [(ALL, 6, 4), ("a", 3, 3), ("b", 3, 1)]
    mine = lines[2]
    assert (mine.rmse, mine.mae, mine.skill) == pytest.approx((5, 5, 0.75))
    assert mine.noise == pytest.approx(100 * math.sqrt((0.09 / 100 + 0.16 / 100 + 0.21 / 200) / 3))
    assert math.isnan(mine.low)
    assert [line.by_group for line in lines[:2]] == pytest.approx([10, math.sqrt((5**2 + 20**2) / 2)])
    few = targets.subset(np.arange(6) < 4).group_scores(off(targets, 5, -5, 5, 20, 0, 0))
    assert few == pytest.approx({"by group": math.sqrt((5**2 + 20**2) / 2), "a": 5, "b": 20})
    assert {line.subject for line in lines} == {"cnn"}


def test_the_table_in_a_terminal_and_in_markdown(targets):
    methods = {"constant": dict.fromkeys(targets.ids, 0.45), "mine": off(targets, *[5.0] * 6)}
    rows = score_cells(targets, methods)
    assert text_table(rows).splitlines() == [
        "method        RMSE  skill    MAE  Spearman  by group      a      b",
        "mine          5.00   0.97   5.00      1.00      5.00   5.00   5.00",
        "constant     28.14   0.00  25.00               28.14  26.30  29.86",
        "noise floor   3.04                                     3.44   2.58",
    ]
    assert markdown_table(rows).splitlines()[1] == f"| --- |{' ---: |' * 7}"
    assert csv_table([["x", "y"], [1, math.nan], ["-a", -0.001]]) == "x,y\n1,\n-a,0.00\n"


def test_the_legend_says_what_is_in_each_group_that_has_a_column():
    assert "operations that no meta-train set has" in legend(["new", "seen", "new"])
    assert "fewer classes" not in legend(["new", "seen"])
    assert "by group" not in legend(["seen", "seen"])
    assert "by group" not in legend(["a", "b"])


def test_copies_of_a_family_do_not_narrow_the_interval():
    errors = np.random.default_rng(0).normal(size=12)

    def interval(families, times=50):
        found = Families.of([f"{each:03d}" for each in families], [""] * len(families))
        low, high = found.interval(np.repeat(errors, times))
        return float(low), float(high)

    narrow, wide = interval(list(range(600))), interval([i // 50 for i in range(600)])
    assert wide[1] - wide[0] > 3 * (narrow[1] - narrow[0])
    assert wide == pytest.approx(interval(list(range(12)), 1))
    assert math.isnan(interval([*range(9), 8, 8, 8], 1)[0])


def test_families_of_test_sets_come_from_the_record_of_the_build(competition):
    rows = solution_of(competition)
    alone = Targets.of_solution(competition, rows)
    assert len(alone.families) == 4, "two classifiers see each set"
    record = competition.private / "build.json"
    known = json.loads(record.read_text())
    tests = [{"recipe": '{"name": "test_0001"}', "family": "set test_0002"}]
    record.write_text(json.dumps({**known, "test": tests}))
    assert len(Targets.of_solution(competition, rows).families) == 3


def test_the_constant_is_each_subjects_own_meta_train_mean(taught):
    for part in ("train", "val", "test"):
        found = constant_predictions(taught, part)
        assert list(found) == list(taught.ids(part))
        for name, value in found.items():
            assert value == pytest.approx(0.6 if name.startswith("cnn") else 0.15)


def test_a_competition_without_validation_sets_says_so(competition, tmp_path):
    without = with_fields(competition, sizes={**competition.sizes, "val": {}})
    with pytest.raises(UnusableInput, match="no validation sets"):
        score_validation(without, tmp_path / "a.csv")
