"""Estimates from logits: right where nothing shifted, lower where it did, and open about what they do not know."""

import json
from dataclasses import replace

import numpy as np
import pytest

import unseen
from submission import UnusableInput
from unseen.estimation import from_logits
from unseen.estimation.page import as_json, chart, write_estimation

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
HARD, HARD_LABELS = made(1000, 1.2, 2)
TWO, TWO_LABELS = made(1000, 2.5, 3, classes=2)


def accuracy(logits, labels):
    return (logits.argmax(axis=1) == labels).mean()


@pytest.fixture(scope="module")
def found():
    return unseen.estimate(LOGITS, LABELS, {"same": SAME, "hard": HARD, "two <b>": TWO})


def test_what_did_not_shift_is_told_within_the_interval(found):
    same, hard, two = found.sets
    assert same.low <= accuracy(SAME, SAME_LABELS) <= same.high
    assert same.accuracy == pytest.approx(accuracy(SAME, SAME_LABELS), abs=0.03)
    assert (same.fallen, hard.fallen) == ("no", "yes")
    assert hard.low <= accuracy(HARD, HARD_LABELS) <= hard.high
    assert two.low <= accuracy(TWO, TWO_LABELS) <= two.high
    assert sum(two.shares[:2]) > 0.95
    assert same.distance < 0.1 < hard.distance
    assert (same.place, hard.place) == ("inside", "far")
    assert same.outside <= 1 < 2 < hard.outside
    for half, true in found.halves:
        assert half.low <= true <= half.high


def test_what_is_uncertain_is_said(found):
    remarks = " ".join(found.sets[2].remarks)
    assert "its classes have other shares than the labelled images" in remarks
    few = unseen.estimate(LOGITS, LABELS, SAME[:40]).sets[0]
    assert "40 images are few" in " ".join(few.remarks)
    assert few.high - few.low > found.sets[0].high - found.sets[0].low
    known = LABELS != 5
    lacking = unseen.estimate(LOGITS[known], LABELS[known], SAME).sets[0]
    assert any(remark.startswith("no labelled image is of class 5") for remark in lacking.remarks)


def test_a_far_set_with_a_higher_estimate_is_unclear():
    """Noise makes the confidences higher and the model wrong: logits alone do not show the fall."""
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=2000)
    logits = 2 * (rng.normal(size=(2000, 10)) + 2.5 * np.eye(10)[labels])
    noisy = logits[1000:] + 4 * rng.normal(size=(1000, 10))
    found = unseen.estimate(logits[:1000], labels[:1000], noisy)
    (each,) = found.sets
    assert accuracy(noisy, labels[1000:]) < found.accuracy - found.margin < each.low
    assert (each.difference > 0, each.place, each.fallen) == (True, "far", "unclear")
    assert any("cannot exclude a fall" in remark for remark in each.remarks)


def test_the_least_sure_rows_are_named(found):
    top_two = np.sort(HARD, axis=1)[:, -2:]
    margins = top_two[:, 1] - top_two[:, 0]
    assert margins[list(found.sets[1].least_sure)].mean() < np.median(margins) / 4


def test_a_second_models_agreement_counts():
    other, other_set = LOGITS[:, ::1] + 1, HARD + np.random.default_rng(5).normal(size=HARD.shape)
    found = unseen.estimate(LOGITS, LABELS, {"hard": HARD}, second=(other, {"hard": other_set}))
    assert "gde" in found.table.columns
    with pytest.raises(UnusableInput, match="the second model's logits of hard must be"):
        unseen.estimate(LOGITS, LABELS, {"hard": HARD}, second=(other, {"hard": HARD[:5]}))


def featured(logits, d, shift=0.0):
    """Features from which logits like these could come, and how far they are moved."""
    rng = np.random.default_rng(d)
    return np.tanh(logits / 4) @ rng.normal(size=(K, d)) + rng.normal(size=(len(logits), d)) + shift


@pytest.mark.parametrize("d", [40, 300])
def test_features_tell_a_set_whose_logits_are_as_before(d):
    sets = {"same": SAME, "moved": SAME}
    features = featured(LOGITS, d), [featured(SAME, d), featured(SAME, d, 0.5)]
    found = unseen.estimate(LOGITS, LABELS, sets, features=features)
    same, moved = found.sets
    assert same.outside < 1.5 < 2 < moved.outside
    assert found.centres == ("atc-ne-ts", "cott-gate")
    assert moved.accuracy == pytest.approx((moved.methods["atc-ne-ts"] + moved.methods["cott-gate"]) / 2)
    scaled = features[0] * 1e6, [each * 1e6 for each in features[1]]
    again = unseen.estimate(LOGITS, LABELS, sets, features=scaled)
    assert again.sets[1].outside == pytest.approx(moved.outside, rel=1e-3)


def test_features_that_are_the_same_for_all_images_tell_nothing():
    plain = unseen.estimate(LOGITS, LABELS, {2024: SAME})
    features = np.ones((len(LOGITS), 3)), {2024: np.ones((len(SAME), 3))}
    found = unseen.estimate(LOGITS, LABELS, {2024: SAME}, features=features)
    assert found.sets[0].outside == plain.sets[0].outside
    assert "2024" in str(found)


def test_features_follow_their_windows():
    stream, features = np.vstack([SAME, SAME]), featured(SAME, 30)
    both = np.vstack([features, features + 1])
    found = unseen.estimate(LOGITS, LABELS, stream, features=(featured(LOGITS, 30), both), window=1000)
    before, after = found.sets
    assert before.outside < 2 < after.outside


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            (LOGITS, [SAME]),
            "features are given for 1 unlabelled sets in place of 2: give those of the labelled",
        ),
        (
            (LOGITS, {"same": SAME, "other": HARD}),
            "features and logits are of other sets: 'hard' has not both",
        ),
        (
            (LOGITS, [SAME, HARD[:, :3]]),
            "the features of hard have 3 numbers, those of the labelled images 6",
        ),
        ((LOGITS[:9], [SAME, HARD]), r"the features of the labelled images must be \(1500, d\), a row of"),
    ],
)
def test_features_that_do_not_fit_are_told(features, message):
    with pytest.raises(UnusableInput, match=message):
        unseen.estimate(LOGITS, LABELS, {"same": SAME, "hard": HARD}, features=features)


def test_windows_are_sets_in_their_order():
    found = unseen.estimate(LOGITS, LABELS, {"stream": np.vstack([SAME, HARD])}, window=500)
    assert list(found.table.index) == ["stream 0", "stream 500", "stream 1000", "stream 1500"]
    assert found.below(0.8) == ["stream 1000", "stream 1500"]
    assert found.plot()._repr_png_().startswith(b"\x89PNG")
    drawn = chart(found)
    first, last, lowest, highest = drawn.told.removeprefix("Estimates of 4 sets in their order: ").split("; ")
    assert first.startswith(f"first stream 0, {100 * found.sets[0].accuracy:.1f} % (")
    assert (last[:18], highest[:15]) == ("last stream 1500, ", "highest stream ")
    assert lowest.split(",")[0] in ("lowest stream 1000", "lowest stream 1500")
    assert len(drawn.line.split()) == 4
    assert len(drawn.band.split()) == 8


def test_files_hold_everything_and_escape_names(found, tmp_path):
    page, table, data = write_estimation(found, tmp_path)
    text = page.read_text()
    assert "two &lt;b&gt;" in text
    assert "http" not in text.replace('http-equiv="Content-Security-Policy"', "")
    assert table.read_text().startswith(
        "set,images,accuracy,low,high,difference,fallen,distance,outside,atc-ne-ts,"
    )
    assert json.loads(data.read_text()) == json.loads(json.dumps(as_json(found)))
    assert "two &lt;b&gt;" in found._repr_html_()
    assert "<button" not in found._repr_html_()
    assert chart(found) is None
    assert found.shares.loc["same"].sum() == pytest.approx(1)


def test_accuracy_at_chance_level_is_told(found, tmp_path):
    wrong = unseen.estimate(LOGITS, (LABELS + 1) % K, SAME)
    assert wrong.warning.startswith(
        f"accuracy on the labelled images is {100 * wrong.accuracy:.1f} %, no better"
    )
    assert wrong.warning.endswith("%): are the classes in the model's order?")
    assert f"warning: {wrong.warning}" in str(wrong)
    page, _, data = write_estimation(wrong, tmp_path)
    assert "no better than chance" in page.read_text()
    assert json.loads(data.read_text())["warning"] == wrong.warning
    assert found.warning == ""


def test_a_notebook_shows_the_warning_and_the_remarks(found):
    ties = 9.0 * np.eye(K)[LOGITS.argmax(axis=1)]
    wrong = unseen.estimate(
        ties, LABELS, {"ties": 9.0 * np.eye(K)[HARD.argmax(axis=1)]}, classes=np.arange(K)
    )
    assert wrong.sets[0].low > accuracy(HARD, HARD_LABELS)
    assert wrong.warning.startswith("the check fails, both halves are less accurate than their intervals say")
    assert "<b>Warning:</b> the check fails, both halves are less accurate" in wrong._repr_html_()
    assert wrong.sets[0].remarks[0] in wrong._repr_html_()
    assert "Warning" not in found._repr_html_()
    assert wrong.classes[0] == "0"


def test_labelled_images_without_errors_are_told():
    right = LOGITS.argmax(axis=1) == LABELS
    sure = unseen.estimate(LOGITS[right], LABELS[right], HARD)
    assert sure.sets[0].low > accuracy(HARD, HARD_LABELS)
    assert sure.warning.startswith("no labelled image is wrong, so nothing tells how sure the model is where")


def test_sets_that_take_long_are_told_once(monkeypatch, capsys):
    monkeypatch.setattr(from_logits, "MANY", 950)
    for _ in range(2):
        unseen.estimate(LOGITS[:900], LABELS[:900], {"long": SAME, "short": HARD[:900]})
    assert capsys.readouterr().err.splitlines() == [
        "long has 1,000 rows, and the time grows faster than their number: draw 30,000 at random, or "
        "cut a set by --window"
    ]


def test_an_interval_of_all_accuracies_is_not_printed(found):
    learnt = replace(found.sets[0], learnt=(0.0, 1.0), methods={"unseen-best": 0.5})
    text = str(replace(found, sets=(learnt,)))
    assert "same: unseen-best alone, 50.0 %, 90 % interval: too few meta-train sets to say" in text


def test_limits_of_margin_and_level():
    with pytest.raises(UnusableInput, match="--level must lie between 0 and 1, got 1"):
        unseen.estimate(LOGITS, LABELS, SAME, level=1.0)
