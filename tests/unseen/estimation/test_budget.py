"""Which images to label, and what their labels tell: an interval that covers, and who wins an argument."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

import unseen
from baselines.accuracy.atc import confidence_log_odds
from submission.errors import UnusableInput
from unseen.estimation.budget import ByLabels, answered, draw, proportional_order, read_answers

FILES = {"today": [f"{row}.png" for row in range(300)], "=harder": ["-x.png"] * 200}


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=800)
    logits = 2 * (rng.normal(size=(800, 4)) + 2 * np.eye(4)[labels])
    sets = {"today": logits[300:600], "=harder": logits[600:] / 3}
    return unseen.estimate(logits[:300], labels[:300], sets, classes=("ant", "bee", "cat", "3"))


def test_every_beginning_of_the_order_is_proportional():
    order = proportional_order(np.arange(1000), np.random.default_rng(0))
    assert sorted(order) == list(range(1000))
    for count in (20, 50, 333):
        strata = np.bincount(order[:count] // 250, minlength=4)
        assert abs(strata - count / 4).max() < 2
    firsts = [proportional_order(np.arange(20), np.random.default_rng(seed))[0] for seed in range(4000)]
    assert np.bincount(firsts, minlength=20).min() > 140  # each row is first in 200 of 4,000


def test_predicted_classes_and_their_confidences_are_drawn_in_proportion(found):
    table = found.ask(100)
    for seen in found.seen:
        rows = table.row[table.set.str.endswith(seen.set_name)].to_numpy()
        for k in range(4):
            known = seen.predicted == k
            sure = confidence_log_odds(seen)
            for part in (known, known & (sure > np.median(sure[known]))):
                assert abs(part[rows].sum() - 100 * part.mean()) < 3


def test_asking_for_more_extends_the_first_images(found):
    few, many = found.ask(50), found.ask(100)
    assert list(few) == ["set", "row", "check", "label"]
    for name, images in few.groupby("set").row:
        assert list(many.row[many.set == name])[:50] == list(images)
    assert (len(many), len(found.ask(250))) == (200, 250 + 200)


def written(path, table, *labels):
    """The table with these labels in the first rows of `today`, in a file."""
    table.assign(label=[*labels, *[""] * (len(table) - len(labels))]).to_csv(path, index=False)
    return path


def test_answers_replace_the_estimate_and_missing_ones_are_told(found, tmp_path):
    """Names and numbers are read, a table may hold 2.0 for 2; `3` names the last class, which has number 3."""
    path = written(tmp_path / "ask.csv", found.ask(20), "ant", "2", "2.0", "3")
    today, harder = found.answered(path).sets
    assert (today.labels, harder.labels) == (4, 0)
    assert 0 <= today.low <= today.accuracy <= today.high <= 1
    assert harder.accuracy == found.sets[1].accuracy
    assert "16 rows have no label" in today.remarks[-1]
    assert "20 rows have no label" in harder.remarks[-1]
    named = replace(found, classes=("ant", "2", "cat", "3"))  # 2.0 is that name too
    whole = written(tmp_path / "whole.csv", found.ask(20), "ant", "2", "2", "3")
    assert named.answered(path).sets[0].accuracy == named.answered(whole).sets[0].accuracy
    kept = draw(found, 30, read_answers(path, found))
    assert (len(kept), list(kept.label[:5])) == (60, ["ant", "2", "2.0", "3", ""])


def test_answers_to_rows_of_other_data_are_refused(found, tmp_path):
    """A column that is empty or not there, as in a table of one's own, is not compared."""
    path = written(tmp_path / "ask.csv", found.ask(20), *["ant"] * 20)
    today = found.seen[0]
    other = replace(found, seen=(replace(today, logits=today.logits[::-1].copy()), *found.seen[1:]))
    with pytest.raises(UnusableInput, match="of today was another when it was asked"):
        other.answered(path)
    written(path, found.ask(20).assign(check=""), *["ant"] * 20)
    assert other.answered(path).sets[0].labels == 20


def test_images_of_no_class_are_answered_and_count_as_wrong(found, tmp_path):
    path = written(tmp_path / "ask.csv", found.ask(20), *["none"] * 20)
    today, _ = found.answered(path).sets
    assert today.labels == 20
    assert today.low == 0
    assert today.high < 0.3
    assert "rows have no label" not in " ".join(today.remarks)


def test_all_labels_give_the_accuracy_itself(found):
    seen = found.seen[1]
    known = {("=harder", row): str(k) for row, k in enumerate(seen.predicted.tolist())}
    known["=harder", 0] = str((seen.predicted[0] + 1) % 4)
    each = answered(found, known).sets[1]
    assert each.low == each.accuracy == each.high == 1 - 1 / len(seen)
    known["=harder", 1] = ""
    assert answered(found, known).sets[1].high - answered(found, known).sets[1].low == pytest.approx(1 / 200)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("monday,0,0.png,ant", "line 2: no set 'monday' is estimated"),
        ("today,300,,ant", "today has no row 300: it has 0 to 299"),
        ("today,one,,ant", "today has no row one"),
        ("today,1,2.png,ant", "row 1 of today is 1.png, not 2.png"),
        ("today,1,1.png,\ntoday,1,1.png,ant", "line 3: row 1 of today is given twice"),
        ("'=harder,1,'-x.png,dog", "no class is called dog: give a class, such as ant or 0, or none"),
        ("today,1,1.png,4", "no class is called 4"),
    ],
)
def test_answers_of_other_images_or_classes_are_refused(found, tmp_path, line, words):
    (tmp_path / "ask.csv").write_text(f"set,row,file,label\n{line}\n")
    with pytest.raises(UnusableInput, match=words):
        read_answers(tmp_path / "ask.csv", found, FILES)


def by_hand(right, images, level):
    """The interval for labels in groups of five, each of which stands for as many of the images."""
    groups = np.split(right, len(right) // 5)
    n, g, mean = len(right), len(groups), right.mean()
    within = np.mean([each.var(ddof=1) for each in groups])
    share = (n * min(within / right.var(ddof=1), 1) + 20) / (n + 20)
    worth, z = n / share / (1 - n / images), t.ppf((1 + level) / 2, n - g)
    centre = (mean + z**2 / (2 * worth)) / (1 + z**2 / worth)
    reach = z * (centre * (1 - centre) / (worth + z**2)) ** 0.5
    return centre - reach, centre + reach


@pytest.mark.parametrize("wrong", [(0, 0, 5, 5), (5, 0, 0, 0), (2, 3, 2, 3), (1, 0, 2, 0)])
def test_groups_of_neighbours_narrow_the_interval_as_far_as_twenty_plain_labels_allow(wrong):
    """Where each group is all right or all wrong, its labels alone would leave no doubt."""
    right = np.concatenate([np.arange(5) >= each for each in wrong])
    images = 100_000
    ranks = images // 20 * np.arange(20) + images // 40
    found = ByLabels.of(right, ranks, images, 0.9)
    assert found.accuracy == pytest.approx(right.mean(), abs=1e-4)
    assert (found.low, found.high) == pytest.approx(by_hand(right, images, 0.9), abs=1e-4)
    assert found.high - found.low > 0.2


def test_a_group_counts_by_the_images_that_it_stands_for():
    """Half of the labels lie in the last tenth of the set."""
    ranks = np.concatenate([90 * np.arange(10), 900 + 10 * np.arange(10)])
    right = ranks < 900
    assert ByLabels.of(right, ranks, 1000, 0.9).accuracy == pytest.approx(0.855 + 0.0005)


@pytest.mark.parametrize("accuracy", [0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("count", [20, 50])
@pytest.mark.slow
def test_intervals_cover(accuracy, count):
    """At 90 % nine of ten draws do, at any accuracy, and none has a width of zero."""
    rng, rows = np.random.default_rng(1), np.arange(400)
    right = np.zeros(400, bool)
    right[np.argsort(rng.logistic(size=400) - rows / 100)[: round(400 * accuracy)]] = True
    drawn = [proportional_order(rows, np.random.default_rng(seed))[:count] for seed in range(200)]
    ends = np.array([(each.low, each.high) for each in (ByLabels.of(right[x], x, 400, 0.9) for x in drawn)])
    assert ((ends[:, 0] <= accuracy) & (accuracy <= ends[:, 1])).mean() >= 0.86
    assert np.ptp(ends, axis=1).min() > 0.01


def test_labels_win_where_they_contradict_the_estimate():
    by_labels = ByLabels(0.6, 0.5, 0.7, 0.06)
    assert by_labels.shrunk(0.62, 0.02) == pytest.approx(0.618)
    assert 0.6 < by_labels.shrunk(0.95, 0.02) < by_labels.shrunk(0.75, 0.02) < 0.7
