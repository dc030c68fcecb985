"""Estimates from logits: right where nothing shifted, lower where it did, and open about what they do not know."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import unseen
from baselines.contract.intervals import WIDER, Remoteness
from starter.observing.observation import Observation
from submission.errors import UnusableInput
from unseen.estimation.fitted import CENTRES, Fitted

K = 6


def made(n, skill, seed, classes=K):
    """Logits (n, K) of a model that is right the more often the higher `skill`, and labels (n,)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    logits = rng.normal(size=(n, K))
    logits[np.arange(n), labels] += skill
    return 2 * logits, labels


LOGITS, LABELS = made(1500, 2.5, 0)
SAME, SAME_LABELS = made(1000, 2.5, 1)
HARD, HARD_LABELS = made(1000, 0.6, 2)
TWO, TWO_LABELS = made(1000, 2.5, 3, classes=2)


def accuracy(logits, labels):
    return (logits.argmax(axis=1) == labels).mean()


@pytest.fixture(scope="module")
def found():
    return unseen.estimate(LOGITS, LABELS, {"same": SAME, "hard": HARD, "two": TWO})


def test_what_did_not_shift_is_told_within_the_interval(found):
    same, hard, two = found.sets
    assert same.low <= accuracy(SAME, SAME_LABELS) <= same.high
    assert same.accuracy == pytest.approx(accuracy(SAME, SAME_LABELS), abs=0.03)
    assert (same.fallen, hard.difference < -0.2) == ("no sign", True)
    assert found.verdict("same") == found.verdict(same)
    with pytest.raises(UnusableInput, match="there is no set 'c18': name one of same, hard, two"):
        found.verdict("c18")
    assert hard.low <= accuracy(HARD, HARD_LABELS) <= hard.high
    assert two.low <= accuracy(TWO, TWO_LABELS) <= two.high
    assert sum(two.shares[:2]) > 0.95
    assert same.distance < 0.1 < hard.distance
    assert (same.place, hard.place) == ("inside", "far")
    assert found.warning == ""
    assert sum(same.shares) == pytest.approx(1)
    for half, true in found.halves:
        assert half.low <= true <= half.high
    wrong = replace(found, halves=tuple((half, 0.0) for half, _ in found.halves))
    assert "the check fails, both halves are less accurate" in wrong.warning


def test_what_is_uncertain_is_said(found):
    remarks = " ".join(found.sets[2].remarks)
    assert "its classes have other shares than the labelled images" in remarks
    assert found.sets[2].place == "inside"  # other class shares alone are no shift
    few = unseen.estimate(LOGITS, LABELS, SAME[:40]).sets[0]
    assert "40 images are few" in " ".join(few.remarks)
    assert few.high - few.low > found.sets[0].high - found.sets[0].low
    known = LABELS != 5
    lacking = unseen.estimate(LOGITS[known], LABELS[known], SAME).sets[0]
    assert any(remark.startswith("no labelled image is of class 5") for remark in lacking.remarks)


def test_a_far_set_with_a_higher_estimate_has_a_range_and_no_verdict():
    """Noise makes the confidences higher and the model wrong: logits alone do not show the fall."""
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=2000)
    logits = 2 * (rng.normal(size=(2000, 10)) + 2.5 * np.eye(10)[labels])
    noisy = logits[1000:] + 4 * rng.normal(size=(1000, 10))
    (each,) = unseen.estimate(logits[:1000], labels[:1000], noisy, margin=0.0).sets
    assert (each.difference > 0, each.place, each.fallen) == (True, "far", "cannot tell")
    assert each.interval(0.9).endswith("range")
    assert any("on either side" in remark for remark in each.remarks)


@pytest.mark.parametrize("scale", [0.02, 0.4, 3.0, 100.0])
def test_scaled_logits_span_both_readings(scale):
    """The same file comes from a temperature, which changes no prediction, and from a real loss of confidence."""
    (each,) = unseen.estimate(LOGITS, LABELS, scale * SAME).sets
    assert each.scale == pytest.approx(scale, rel=0.1)
    assert each.low <= accuracy(SAME, SAME_LABELS) <= each.high
    assert (each.fallen, "temperature" in each.remarks[0]) == ("cannot tell", True)
    assert abs(unseen.estimate(LOGITS, LABELS, HARD).sets[0].scale - 1) < 1e-9


def test_fewer_images_than_classes_are_not_taken_for_a_shift():
    rng, k, n = np.random.default_rng(1), 100, 20
    labels = rng.integers(k, size=1000 + 10 * n)
    logits = 2 * (rng.normal(size=(len(labels), k)) + 3.5 * np.eye(k)[labels])
    new = {str(i): logits[1000 + i * n :][:n] for i in range(10)}
    table = unseen.estimate(logits[:1000], labels[:1000], new).table
    assert abs(table.accuracy.mean() - accuracy(logits[1000:], labels[1000:])) < 0.06


def test_alarms_ask_for_the_interval_the_estimate_or_its_lower_end(found):
    same, hard, _ = found.sets
    assert unseen.estimate(LOGITS, LABELS, SAME, margin=0.0).sets[0].fallen == "cannot tell"
    for fail_on, limit in {"certain": hard.high, "likely": hard.accuracy}.items():
        assert ["hard" in found.below(limit + more, fail_on) for more in (0, 1e-9)] == [False, True]
    assert (hard.fallen == "yes") == (hard.high < found.accuracy - found.margin)
    assert found.below(0.01, "possible") == ["hard"]
    assert found.below(same.least + 1e-9, "possible") == ["same", "hard", "two"]


def test_rows_of_two_classes_are_no_certain_fall_and_no_temperature():
    rows, labels = load_digits(return_X_y=True)
    train, known, new = np.split(np.random.default_rng(1).permutation(len(rows)), [600, 1200])
    few = new[np.isin(labels[new], (1, 8))]
    model = LogisticRegression(max_iter=2000).fit(rows[train] / 16, labels[train])
    of_known, of_few = (model.predict_log_proba(rows[part] / 16) for part in (known, few))
    (each,) = unseen.estimate(of_known, labels[known], of_few).sets
    assert (each.scale, each.fallen) == (1.0, "cannot tell")
    assert each.low <= accuracy(of_few, labels[few]) <= each.high
    assert each.accuracy == pytest.approx(np.mean([each.methods[name] for name in CENTRES]), abs=0.002)


def test_only_features_beside_the_confidences_give_a_no_and_a_level(found):
    """From logits alone noise can look like nothing; a second model's agreement does not help."""
    features = featured(LOGITS, 10), {"same": featured(SAME, 10), "two": featured(TWO, 10)}
    seen = unseen.estimate(LOGITS, LABELS, {"same": SAME, "two": TWO}, features=features).sets[0]
    alone = found.sets[0]
    second = unseen.estimate(LOGITS, LABELS, SAME, second=(LOGITS + 1, [SAME])).sets[0]
    assert ("gde" in second.methods, "gde" in alone.methods) == (True, False)
    assert [(each.fallen, each.interval(0.9)[-5:]) for each in (seen, alone, second)] == [
        ("no", " 90 %"),
        ("no sign", "range"),
        ("no sign", "range"),
    ]
    assert alone.high - alone.low == pytest.approx(WIDER * (seen.high - seen.low), rel=0.15)


def test_many_tied_confidences_are_said_and_give_no_verdict():
    sure = softmax(6 * LOGITS, axis=1).round(2)
    tied = unseen.estimate(sure, LABELS, softmax(6 * SAME, axis=1).round(2), probabilities=True)
    each = tied.sets[0]
    assert (each.fallen, each.promised, each.least, each.high) == ("cannot tell", False, 0.0, 1.0)
    assert "% of the labelled images have one and the same confidence" in str(tied)
    assert unseen.estimate(LOGITS, LABELS, SAME).notes == ()


def test_sixty_labels_at_79_percent_are_better_than_chance_and_shuffled_ones_are_not():
    """Two thirds are of one class: random answers in the model's shares would be right on 58 %."""
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3 // 2
    right = rng.permutation(np.arange(60) < 47)
    logits = 3 * np.eye(2)[np.where(right, labels, 1 - labels)] * rng.uniform(0.2, 1, (60, 1))
    good = unseen.estimate(logits, labels, logits)
    assert (good.accuracy, good.chance < 0.6, good.warning) == (47 / 60, True, "")
    assert "no better than chance" in unseen.estimate(logits, rng.permutation(labels), logits).warning


@pytest.mark.parametrize(("classes", "sets", "supported"), [(2, 24, False), (3, 23, False), (3, 24, True)])
def test_two_classes_or_few_meta_train_sets_promise_no_level(classes, sets, supported):
    seen = Observation("known", "model", LOGITS[:, :classes].astype(np.float32))
    meta_train = Remoteness((np.zeros((sets, classes)), np.zeros((sets, 1))), (1.0, 1.0))
    fitted = Fitted.of(seen, LABELS % classes, ("cott",))
    assert replace(fitted, meta_train=meta_train).supported == supported


def featured(logits, d, shift=0.0):
    """Features from which logits like these could come, and how far they are moved."""
    rng = np.random.default_rng(d)
    return np.tanh(logits / 4) @ rng.normal(size=(K, d)) + rng.normal(size=(len(logits), d)) + shift


@pytest.mark.parametrize("d", [40, 300])
@pytest.mark.slow
def test_features_tell_a_set_whose_logits_are_as_before(d):
    sets = {"same": SAME, "moved": SAME}
    features = featured(LOGITS, d), [featured(SAME, d), featured(SAME, d, 0.5)]
    found = unseen.estimate(LOGITS, LABELS, sets, features=features)
    same, moved = found.sets
    assert same.outside < 1.5 < 2 < moved.outside
    assert moved.accuracy == pytest.approx(same.accuracy)  # features widen the range alone
    assert moved.high - moved.low > same.high - same.low
    scaled = features[0] * 1e6, [each * 1e6 for each in features[1]]
    again = unseen.estimate(LOGITS, LABELS, sets, features=scaled)
    assert again.sets[1].outside == pytest.approx(moved.outside, rel=1e-3)


def test_features_that_are_the_same_for_all_images_tell_nothing(found):
    features = np.ones((len(LOGITS), 3)), {2024: np.ones((len(SAME), 3))}
    again = unseen.estimate(LOGITS, LABELS, {2024: SAME}, features=features)
    assert again.sets[0].outside == found.sets[0].outside
    assert again.sets[0].fallen == "no sign"
    assert "2024" in str(again)


def test_windows_are_sets_in_their_order_with_their_features():
    stream = {"stream": np.vstack([SAME, SAME])}
    features = np.vstack([featured(SAME, 30), featured(SAME, 30, 1)])
    found = unseen.estimate(LOGITS, LABELS, stream, features=(featured(LOGITS, 30), features), window=1000)
    assert list(found.table.index) == ["stream 0-999", "stream 1000-1999"]
    assert found.sets[0].outside < 2 < found.sets[1].outside
    stream = np.vstack([SAME, HARD])
    assert unseen.estimate(LOGITS, LABELS, stream, window=1000).below(0.8) == ["set 1 1000-1999"]
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


SURE = LOGITS.argmax(axis=1) == LABELS
ONE_HOT = 9.0 * np.eye(K)


@pytest.mark.parametrize(
    ("logits", "labels", "new", "warning"),
    [
        (LOGITS, (LABELS + 1) % K, SAME, "classes look exchanged, labelled images of 0 as "),
        (LOGITS, np.random.default_rng(0).permutation(LABELS), SAME, "no better than chance"),
        (LOGITS[SURE], LABELS[SURE], HARD, "no labelled image is wrong"),
        (ONE_HOT[LOGITS.argmax(axis=1)], LABELS, ONE_HOT[HARD.argmax(axis=1)], "have the same confidence"),
    ],
)
@pytest.mark.slow
def test_estimates_that_nobody_can_trust_are_told(logits, labels, new, warning):
    wrong = unseen.estimate(logits, labels, new)
    assert warning in wrong.warning
    assert f"warning: {wrong.warning}" in str(wrong)
    assert warning in wrong._repr_html_()
    assert {each.fallen for each in wrong.sets} == {"cannot tell"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"unlabelled": {"today": SAME[:9]}}, "today has 9 images: an estimate needs 10 or more"),
        ({"features": (LOGITS, [SAME])}, "features must be those of the labelled images, then of same, hard"),
        ({"features": (LOGITS, {"same": SAME, "other": HARD})}, "features must be those"),
        ({"features": (LOGITS, [SAME, HARD[:, :3]])}, r"of hard must have the shape \(1000, 6\)"),
        ({"features": (LOGITS[:9], [SAME, HARD])}, r"of the labelled images must have the shape \(1500,"),
        ({"second": (LOGITS, [SAME, HARD[:5]])}, r"of hard must have the shape \(1000, 6\), got \(5, 6\)"),
        ({"level": 90}, "^level must be a fraction between 0 and 1, got 90: did you mean 0.9"),
        ({"margin": 5}, "did you mean 0.05"),
        ({"window": 19}, "window"),
        ({"classes": ("a", "b")}, "2 classes are named, but the logits have 6 columns"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(more, message):
    with pytest.raises(UnusableInput, match=message):
        unseen.estimate(LOGITS, LABELS, **{"unlabelled": {"same": SAME, "hard": HARD}, **more})
