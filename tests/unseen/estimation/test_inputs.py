"""What is given for an estimate: every mistake gets one line with the fix."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch

from submission import UnusableInput
from unseen.estimation.inputs import (
    check_rules,
    comparable,
    each_beside,
    read_features,
    read_labels,
    read_logits,
    read_sets,
    windows,
)

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(60, 4)).astype(np.float32)
PROBABILITIES = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
NAN = LOGITS.copy()
NAN[7, 1] = np.nan
LARGE = LOGITS.astype(np.float64)
LARGE[9, 0] = 1e39


def refused(function, *arguments):
    with pytest.raises(UnusableInput) as error:
        function(*arguments)
    return str(error.value)


@pytest.mark.parametrize(
    ("values", "probabilities", "message"),
    [
        (PROBABILITIES, False, "x holds probabilities, not logits: say so with --probabilities"),
        (LOGITS, True, "x holds no probabilities (rows from 0 up, of sum 1): divide each row by its sum, or"),
        (PROBABILITIES.round(2), False, "x holds probabilities, not logits: say so with --probabilities"),
        (100 * PROBABILITIES, True, "x holds percentages: divide by 100, and say so with --probabilities"),
        (100 * PROBABILITIES, False, "x holds percentages: divide by 100, and say so with --probabilities"),
        (
            1 / (1 + np.exp(-3 * LOGITS)),
            False,
            "x holds numbers from 0 to 1 whose rows have other sums than 1",
        ),
        ([LOGITS[:40], LOGITS[40:]], False, "x: no numbers that make one array (setting an array element"),
        ([["a", None]], False, "x holds object, not numbers: give a row of logits an image"),
        (NAN, False, "x holds NaN, infinite or too large values (above 3e38), first in row 7: leave"),
        (LARGE, False, "x holds NaN, infinite or too large values (above 3e38), first in row 9: leave"),
        (LOGITS[0], False, "x must be (images, classes), two or more of each, got (4,)"),
        (
            LOGITS[:, :1],
            False,
            "x must be (images, classes), two or more of each, got (60, 1); of one output z for two classes",
        ),
        (LOGITS[:0], False, "x must be (images, classes), two or more of each, got (0, 4)"),
        (np.full((60, 4), "a"), False, "x holds <U1, not numbers: give a row of logits an image"),
    ],
)
def test_logits_that_are_none_are_told(values, probabilities, message):
    assert refused(read_logits, values, "x", probabilities).startswith(message)


def test_probabilities_become_logits():
    found = read_logits(PROBABILITIES, "x", True)
    assert (found.argmax(axis=1) == LOGITS.argmax(axis=1)).all()
    assert np.exp(found).sum(axis=1) == pytest.approx(np.ones(60), abs=1e-4)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.arange(59) % 4, "labels must be (60,), a label an image of the logits, got (59,)"),
        (
            np.full(60, "cat"),
            "labels holds <U3, not numbers: give the column of each image's class in the logits",
        ),
        (
            pd.Series(["cat"] * 60, dtype=object),
            "labels holds object, not numbers: give the column of each image's class in the logits",
        ),
        (np.arange(60) % 5, "labels holds 4, but the logits have 4 columns: labels are 0 to 3"),
        (np.arange(60) % 4 - 1, "labels holds -1, but the logits have 4 columns"),
        (np.arange(60) % 4 * 1e300, "labels holds 3e+300, but the logits have 4 columns"),
        (np.full(60, 0.5), "labels must hold whole numbers, the columns of the classes, 0 to 3"),
        (np.zeros(60, int), "labels holds one class alone, 0: label images of several"),
        (np.zeros((60, 1), int), "labels must be (60,), a label an image of the logits, got (60, 1)"),
    ],
)
def test_labels_that_do_not_fit_are_told(labels, message):
    assert refused(read_labels, labels, LOGITS).startswith(message)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            LOGITS[:9],
            "the features of today must be (60, d), a row of features for each row of the logits of",
        ),
        (
            LOGITS[:, 0],
            "the features of today must be (60, d), a row of features for each row of the logits of",
        ),
        (
            np.full((60, 2), "a"),
            "the features of today holds <U1, not numbers: give a row of features an image",
        ),
        (
            NAN,
            "the features of today holds NaN, infinite or too large values (above 3e38), first in row 7: leave",
        ),
    ],
)
def test_features_that_are_none_are_told(values, message):
    assert refused(read_features, values, "today", 60).startswith(message)


@pytest.mark.parametrize("d", [8, 1000])
def test_features_become_comparable_and_keep_their_distances(d):
    rows = RNG.normal(size=(30, d)) * 100
    first, second = comparable([rows, rows[:2] + 50])
    assert first.shape == (30, min(d, 256))
    expected = np.linalg.norm(50 * np.ones(d)) / np.sqrt(np.square(rows).mean())
    assert np.linalg.norm(second[0] - first[0]) == pytest.approx(expected, rel=0.15)


def test_few_labelled_images_are_refused():
    assert refused(read_labels, np.arange(49) % 4, LOGITS[:49]) == (
        "49 labelled images are too few: give 50 or more, better 1,000"
    )


def test_sets_are_named_after_their_files(tmp_path):
    np.save(tmp_path / "today.npy", LOGITS)
    assert list(read_sets([tmp_path / "today.npy", LOGITS], 4)) == ["today", "set 2"]
    assert list(read_sets({"a": LOGITS, 2024: LOGITS}, 4)) == ["a", "2024"]
    (tmp_path / "noon").mkdir()
    shutil.copy(tmp_path / "today.npy", tmp_path / "noon")
    both = [tmp_path / "today.npy", tmp_path / "noon/today.npy"]
    assert list(read_sets(both, 4)) == [path.as_posix() for path in both]
    assert refused(read_sets, both[:1] * 2, 4) == f"the unlabelled set {both[0].as_posix()} is given twice"
    assert refused(read_sets, LOGITS, 5) == "set 1 has 4 classes, the labelled logits 5: give one model's"
    assert refused(read_sets, {"": LOGITS}, 4) == "an unlabelled set has an empty name: give it one"
    assert refused(read_sets, [], 4) == "no unlabelled set is given: name one or more"
    assert refused(read_sets, None, 4).endswith(
        "are an array, a file, or several in a list or by name, not None"
    )
    assert refused(read_sets, tmp_path / "none.npy", 4) == f"{tmp_path / 'none.npy'}: no such file"


def test_tensors_and_tables_are_read_as_arrays_are():
    tensor = torch.tensor(LOGITS, requires_grad=True)
    table = pd.DataFrame(LOGITS, index=range(60, 0, -1))
    for given in (tensor, table, table.astype(object), table.astype("Float32"), LOGITS.tolist()):
        np.testing.assert_array_equal(read_logits(given, "x"), LOGITS)
    np.testing.assert_allclose(read_logits(tensor.bfloat16(), "x"), LOGITS, rtol=0.01)
    for given in (tensor, table):
        assert [each.shape for each in read_sets(given, 4).values()] == [(60, 4)]
        assert list(each_beside((given, given), ["today"], "features")) == ["", "today"]
    assert refused(each_beside, LOGITS, ["today"], "features").startswith("features must be a pair: those of")


def test_a_window_is_a_whole_number():
    check_rules(0.05, 0.9, np.int64(20))
    for window in (19, 100.0):
        assert refused(check_rules, 0.05, 0.9, window) == (
            f"--window must be a whole number, 20 images or more, got {window}"
        )


def test_windows_hold_every_image_once():
    assert np.concatenate(windows(1037, 100)).tolist() == list(range(1037))
