"""Which of several models is best: a bound that always holds, rows to label, and intervals that cover."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import unseen
from submission.errors import UnusableInput
from unseen.estimation.ranking import Ranking, mean_gain

NAMES = ("old", "new", "bad")


@pytest.fixture
def found():
    """Three models, of which two lead, and the truth on 1,000 unlabelled rows."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=1000)
    shared, draws = rng.random(1000), rng.random((3, 1000))
    right = 0.5 * shared + 0.5 * draws < np.array([[0.55], [0.7], [0.3]])
    predicted = np.where(right, truth, (truth + 1) % 3)
    return Ranking(NAMES, np.array([0.72, 0.7, 0.4]), predicted, ("ant", "bee", "2")), truth


def with_labels(ranking, rows, truth):
    return replace(ranking, answers={row: int(truth[row]) for row in rows})


def test_models_differ_by_at_most_the_rows_on_which_they_disagree_whatever_the_labels(found):
    ranking, truth = found
    others = [truth, *np.random.default_rng(0).integers(3, size=(20, 1000)), *ranking.predicted]
    for one, other in ((0, 1), (1, 2), (2, 0), (1, 1)):
        pair = ranking.pairs[one][other]
        assert pair.at_most == (ranking.predicted[one] != ranking.predicted[other]).mean()
        assert (pair.low, pair.high) == (-pair.at_most, pair.at_most)
        gains = [(ranking.predicted[[one, other]] == labels).mean(axis=1) for labels in others]
        assert all(abs(a - b) <= pair.at_most + 1e-12 for a, b in gains)


@pytest.mark.parametrize(
    ("count", "draws", "error"), [(5, 400, 0.01), (20, 400, 0.01), (50, 400, 0.01), (1000, 1, 1e-9)]
)
def test_intervals_hold_the_difference_and_all_labels_give_it(found, count, draws, error):
    ranking, truth = found
    accuracies = (ranking.predicted == truth).mean(axis=1)
    gain = accuracies[1] - accuracies[0]
    rows = [ranking.ask(count, seed).row for seed in range(draws)]
    pairs = [with_labels(ranking, each, truth).pairs[1][0] for each in rows]
    assert np.mean([pair.low - 1e-9 <= gain <= pair.high + 1e-9 for pair in pairs]) > 0.88
    assert np.mean([pair.difference for pair in pairs]) == pytest.approx(gain, abs=error)
    assert count < 1000 or pairs[0].low == pairs[0].high


def test_many_rows_narrow_an_interval_and_no_known_gain_contradicts_it():
    gains = np.array([1.0, 1.0, 0.0, -1.0] * 5)
    widths = [np.diff(mean_gain(np.tile(gains, times), 1000)[1:])[0] for times in (1, 2, 4)]
    assert widths[0] > 1.3 * widths[1] > 1.5 * widths[2]
    assert mean_gain(np.ones(9), 10)[1:] == (0.8, 1)
    assert mean_gain(np.zeros(1), 2)[1:] == (-0.5, 0.5)


def test_the_rows_to_label_are_those_on_which_leading_models_disagree(found):
    ranking, truth = found
    apart = ranking.predicted[0] != ranking.predicted[1]
    table = ranking.ask(60)
    assert (list(table), table.row.is_unique) == (["row", "label"], True)
    assert list(ranking.ask(30).row) == list(table.row[:30])
    assert set(ranking.ask(1000).row) == set(np.flatnonzero(apart))
    whole = np.bincount(ranking.predicted[0][apart]) / apart.sum()
    assert abs(np.bincount(ranking.predicted[0][table.row]) - 60 * whole).max() < 2
    again = with_labels(ranking, table.row[:7], truth).ask(30)
    assert (list(again.label[:7] != ""), len(again)) == ([True] * 7, 37)
    assert set(replace(ranking, keep="bad").ask(1000).row) > set(np.flatnonzero(apart))
    with pytest.raises(UnusableInput, match="old lead and never disagree"):
        replace(ranking, labelled=np.array([0.8, 0.7, 0.6])).ask(1)


def test_rows_that_estimate_asks_for_are_no_answers(found, tmp_path):
    found[0].ask(5).assign(set="today", label="0").to_csv(tmp_path / "ask.csv", index=False)
    with pytest.raises(UnusableInput, match="asked by `unseen estimate`"):
        found[0].answered(tmp_path / "ask.csv")


def test_what_is_better_is_said_and_labels_say_nothing_of_models_that_do_not_lead(found):
    ranking, truth = found
    told = with_labels(ranking, range(1000), truth)
    assert told.pairs[2][0] == ranking.pairs[2][0]
    assert list(told.table.index) == ["new", "old", "bad"]
    assert list(replace(told, keep="bad").table.group) == [1, 2, 3]
    assert replace(told, keep="old").better == ["new"]
    assert "better than old beyond doubt, but these may be: new, bad" in replace(ranking, keep="old").sentence
    two = Ranking(NAMES[:2], told.labelled[:2], told.predicted[:2], told.classes, answers=told.answers)
    assert two.sentence == "No model is as good as new, beyond doubt."


def test_answers_are_names_or_numbers_and_others_are_refused(found, tmp_path):
    ranking, _ = found
    path = tmp_path / "ask.csv"
    path.write_text("row,note,label\n3,x,bee\n4,,1.0\n5,,none\n6.0,,2\n7,,\n")
    assert ranking.answered(path).answers == {3: 1, 4: 1, 5: -1, 6: 2}
    assert list(ranking.answered(path).ask(0).label) == ["bee", "bee", "none", "2"]
    wrong = {"1000,ant": "row '1000'", "1,ant": "each once", "2,cat": "no class is called cat"}
    for line, words in wrong.items():
        path.write_text(f"row,label\n1,ant\n{line}\n")
        with pytest.raises(UnusableInput, match=words):
            ranking.answered(path)


def test_tables_of_models_are_read_in_the_order_of_the_first():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=100)
    scores, names = rng.normal(size=(100, 2)) + np.eye(2)[labels], [f"r{row}" for row in range(100)]
    table = pd.DataFrame(scores, names, ["ant", "bee"])
    models = {"one": table, "same": table.iloc[::-1, ::-1]}
    ranking = unseen.rank(models, pd.Series(labels, table.index)[::-1], models)
    assert ranking.table.at_most.tolist() == [0, 0]
    assert ranking.table.labelled.tolist() == [(table.to_numpy().argmax(axis=1) == labels).mean()] * 2
    for wrong in ({"one": table}, {"one": table, "other": table}, {"one": table, "same": table[["ant"]]}):
        with pytest.raises(UnusableInput):
            unseen.rank(models, labels, wrong)
