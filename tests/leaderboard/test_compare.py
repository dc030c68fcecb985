"""`compare`: means, intervals and decisions against SciPy, on tables of items x systems."""

import numpy as np
import pytest
from command_line import run
from scipy import stats

from leaderboard.compare import compare, resolvable, standard_error
from submission.errors import UnusableInput
from submission.scoretable import Families


def written(path, values, header="item,a,b,c", families=None):
    """A CSV of values (n, s), with a column `source` if there are families."""
    names = [f"q{i}," + (f"{families[i]}," if families else "") for i in range(len(values))]
    rows = [name + ",".join(map(str, row)) for name, row in zip(names, values, strict=True)]
    path.write_text("\n".join([header, *rows]), encoding="utf-8")
    return path


def test_the_table_has_means_intervals_and_groups(tmp_path):
    values = np.random.default_rng(0).normal([50, 50.5, 60], 5, (40, 3))
    lines = compare(written(tmp_path / "scores.csv", values)).splitlines()
    assert lines[0].split() == ["system", "mean", "95", "%", "interval", "rank", "group"]
    assert [line.split()[0] for line in lines[1:4]] == [
        "c",
        *sorted("ab", key=lambda s: -values[:, "ab".index(s)].mean()),
    ]
    assert [line.split()[-1] for line in lines[1:4]] == ["1", "2", "2"]
    low, high = stats.t.interval(0.95, 39, values[:, 2].mean(), stats.sem(values[:, 2]))
    assert lines[1].split()[1:5] == [f"{values[:, 2].mean():.1f}", f"{low:.1f}", "to", f"{high:.1f}"]
    assert "2 of 3 pairs" in lines[6]
    assert compare(tmp_path / "scores.csv", lower=True).splitlines()[3].startswith("c")


def test_families_count_as_one_and_too_few_of_them_decide_nothing(tmp_path):
    once = np.random.default_rng(1).normal([50, 60], 5, (6, 2))
    twice = written(
        tmp_path / "twice.csv", np.repeat(once, 2, axis=0), "item,source,a,b", [i // 2 for i in range(12)]
    )
    single = written(tmp_path / "once.csv", once, "item,a,b")
    rows = [text.splitlines()[:3] for text in (compare(twice, families="source"), compare(single))]
    assert rows[0] == rows[1]
    many = written(tmp_path / "many.csv", np.random.default_rng(2).normal(0, 1, (6, 3)))
    assert "and none if all 3 pairs are: too few items" in compare(many)


def test_a_resolvable_difference_is_found_four_times_in_five():
    rng, items = np.random.default_rng(3), Families.of([str(i) for i in range(30)], ["all"] * 30)
    noise = rng.normal(size=(2000, 30))
    alone, _ = resolvable(noise, items)
    assert standard_error(noise, items) == pytest.approx(stats.sem(noise, axis=1))
    assert (stats.ttest_1samp(noise + alone, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("pairs", [1, 3, 45])
def test_the_first_of_holms_tests_has_a_share_of_the_level(pairs):
    """Of m tests, the smallest p-value has to be below 0.05 / m."""
    items = Families.of([str(i) for i in range(30)], ["all"] * 30)
    differences = np.random.default_rng(4).normal(size=(pairs, 30))
    error = np.median(stats.sem(differences, axis=1))
    expected = [stats.t.ppf(1 - 0.05 / 2 / tests, 29) + stats.norm.ppf(0.8) for tests in (1, pairs)]
    assert resolvable(differences, items) == pytest.approx([error * each for each in expected], rel=1e-6)


def test_verdicts_and_percentages_are_scores(tmp_path):
    """True and PASS are 1, False and FAIL 0, and 85% is .85."""
    rng = np.random.default_rng(0)
    right = rng.random((40, 2)) < [0.4, 0.8]
    words = [["True" if first else "False", "PASS" if second else "FAIL"] for first, second in right]
    for name, rows in (
        ("words", words),
        ("numbers", right.astype(int).tolist()),
        ("percent", [[f"{100 * value}%" for value in row] for row in right.astype(int)]),
    ):
        lines = ["a,b", *(",".join(map(str, row)) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    found = {name: compare(tmp_path / f"{name}.csv") for name in ("words", "numbers", "percent")}
    assert len({*found.values()}) == 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("item,a\n", "no scores"),
        ("item,a\nq1,1\nq2,\n", "line 3, column 'a': an empty cell: remove this item"),
        ("item,a\nq1,1\nq2,nan\n", "line 3, column 'a': an empty cell"),
        ("item,a\nq1,1\nq2,1e308\n", "line 3, column 'a': '1e308' is too large"),
        ("a,source\n1,x\n2,y\n", "'x' is not a number; is it a column for families"),
        ("a,b\n1,2\n2,3\n", "give 6 or more"),
        ("a,b\nq1,1,2\nq2,2,3\n", "line 2: more fields than the header"),
        ("item;a;b\nq1;1,5;2,5\n", "line 2: more fields than the header"),
        ("item;a;b\nq1;1;2\n", "separated by commas"),
        ("item,a,b,a\nq1,1,2,3\n", "the column 'a' is there twice"),
    ],
)
def test_what_is_no_table_of_scores_is_refused(tmp_path, text, word):
    (tmp_path / "scores.csv").write_text(text)
    with pytest.raises(UnusableInput, match=word):
        compare(tmp_path / "scores.csv")
    assert run("compare", str(tmp_path / "scores.csv"), check=False).code == 2
