"""Which images to label, and what labels of some of them tell."""

from dataclasses import replace

import numpy as np
import pytest

import unseen
from baselines.accuracy.atc import confidence_log_odds
from submission.errors import UnusableInput
from unseen.estimation.budget import answered, draw, proportional_order, read_answers

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
    assert list(few) == ["set", "row", "label"]
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
        ("'=harder,1,'-x.png,dog", "no class is called dog: give a name or a number"),
        ("today,1,1.png,4", "no class is called 4"),
    ],
)
def test_answers_of_other_images_or_classes_are_refused(found, tmp_path, line, words):
    (tmp_path / "ask.csv").write_text(f"set,row,file,label\n{line}\n")
    with pytest.raises(UnusableInput, match=words):
        read_answers(tmp_path / "ask.csv", found, FILES)
