"""What is given for an estimate: every mistake gets one line with the fix."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import unseen
from submission.errors import UnusableInput
from unseen.estimation.inputs import beside, by_name, comparable, read_labels, read_logits
from unseen.estimation.tables import read

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(60, 4)).astype(np.float32)
PROBABILITIES = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
NAN = LOGITS.copy()
NAN[7, 1] = np.nan
LARGE = LOGITS.astype(np.float64)
LARGE[9, 0] = 1e39
LABELS = np.arange(60) % 4
NAMES = ["ant", "bee", "cat", "dog"]


@pytest.mark.parametrize(
    ("values", "probabilities", "message"),
    [
        (PROBABILITIES, False, "probabilities, not logits"),
        (PROBABILITIES.round(2), False, "probabilities, not logits"),
        (LOGITS, True, "no probabilities"),
        (100 * PROBABILITIES, True, "percentages: divide by 100"),
        (100 * PROBABILITIES, False, "percentages: divide by 100"),
        (1 / (1 + np.exp(-3 * LOGITS)), False, "after a sigmoid"),
        (PROBABILITIES / 2, True, "several labels an image"),
        ([LOGITS[:40], LOGITS[40:]], False, "join the batches by numpy.concatenate"),
        ([["a", None]], False, "holds 'a', not numbers"),
        (np.full((60, 4), "0,5"), False, "holds '0,5', not numbers"),
        (NAN, False, r"NaN, infinite or too large values \(above 3e38\), first in row 7"),
        (LARGE, False, "first in row 9"),
        (LOGITS[0], False, "one number an image"),
        (LOGITS[:, :1], False, "of the log-odds z of two classes make the columns 0 and z"),
        (LOGITS[None], False, r"\(2 or more, 2 or more\), got \(1, 60, 4\)"),
        (LOGITS[:0], False, r"got \(0, 4\)"),
    ],
)
def test_logits_that_are_none_are_told(values, probabilities, message):
    with pytest.raises(UnusableInput, match=f"x.* {message}"):
        read_logits(read(values, "x"), probabilities)


def test_tables_and_names_of_classes_are_read(tmp_path):
    headed, bare = pd.DataFrame(LOGITS, columns=NAMES), pd.DataFrame(LOGITS)
    headed.to_csv(tmp_path / "headed.csv", index=False)
    headed.to_csv(tmp_path / "indexed.csv")
    bare.to_csv(tmp_path / "bare.csv", index=False, header=False)
    bare.to_csv(tmp_path / "counted.csv", index=False)
    bare.rename(columns=lambda i: i + 1).to_csv(tmp_path / "counted-from-1.csv", index=False)
    for path in tmp_path.glob("*.csv"):
        assert read_logits(read(path, "x")) == pytest.approx(LOGITS, abs=1e-6)
    names = pd.Series(np.array(NAMES)[LABELS], name="label")
    names.to_csv(tmp_path / "names.csv", index=False, header=False)
    names.to_csv(tmp_path / "headed-names.csv", index=False)
    names.to_csv(tmp_path / "indexed-names.csv")
    pd.Series(LABELS).to_csv(tmp_path / "names-counted-indexed.csv")
    for given in (names.to_numpy(), [*names], LABELS, *tmp_path.glob("*names*.csv")):
        assert (read_labels(read(given, "labels"), 60, 4, NAMES) == LABELS).all()
    for numbers in (("2", "0", "11", "3"), ("9", "8", "7", "6")):
        pd.Series(np.array(numbers, int)[LABELS]).to_csv(tmp_path / "numbers.csv", index=False, header=False)
        given = read(tmp_path / "numbers.csv", "labels")
        assert (read_labels(given, 60, 4, numbers) == LABELS).all()
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(UnusableInput, match=r"empty.csv: holds no table"):
        read(tmp_path / "empty.csv", "x")


def test_columns_are_known_by_their_names(tmp_path):
    """Those of a set, of a second model and of features stand in another order; labels are names of columns."""
    table = pd.DataFrame(LOGITS + 3 * np.eye(4)[LABELS], columns=NAMES)
    turned, labels = table[["cat", "ant", "dog", "bee"]], [NAMES[label] for label in LABELS]
    for name, each in (("val", table), ("today", turned), ("other", turned.rename(columns={"ant": "owl"}))):
        each.to_csv(tmp_path / f"{name}.csv", index=False)
    val, today, other = (tmp_path / f"{name}.csv" for name in ("val", "today", "other"))
    more = {"second": (turned, [turned]), "features": (table, [turned])}
    found = unseen.estimate(val, labels, {"a": today}, **more)
    same = unseen.estimate(table, LABELS, {"a": table}, (table, [table]), (table, [table]))
    pd.testing.assert_frame_equal(found.table, same.table)
    assert found.sets[0].shares == pytest.approx(same.sets[0].shares)
    assert found.classes == tuple(NAMES)
    words = r"other.csv has the columns owl; those of the labelled images have the columns ant"
    with pytest.raises(UnusableInput, match=words):
        unseen.estimate(val, labels, other)


def test_probabilities_become_logits():
    found = read_logits(read(PROBABILITIES, "x"), True)
    assert (found.argmax(axis=1) == LOGITS.argmax(axis=1)).all()
    assert np.exp(found).sum(axis=1) == pytest.approx(np.ones(60), abs=1e-4)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.arange(59) % 4, r"\(60\), got \(59,\)"),
        (np.arange(180).reshape(60, 3), "several classes, or shares"),
        (np.ones((60, 4), int), "several classes"),
        ([None, *["bee"] * 59], "'None', which is no named class"),
        (np.full(60, "cat"), "'cat', which is no named class: give classes"),
        (pd.Series(["cat"] * 60, dtype=object), "no named class"),
        (np.arange(60) % 5, "0 to 3; they go from 0 to 4"),
        (np.arange(60) % 4 - 1, "0 to 3; they go from -1 to 2"),
        (np.full(60, 0.5), "got 0.5: the kit estimates the accuracy of classes, no regression"),
        (np.zeros(60, int), "60 labelled images of 1 classes are too few"),
    ],
)
def test_labels_that_do_not_fit_are_told(labels, message):
    with pytest.raises(UnusableInput, match=message):
        read_labels(read(labels, "labels"), 60, 4)
    with pytest.raises(UnusableInput, match="49 labelled images of 4 classes are too few: give 50 or more"):
        read_labels(read(np.arange(49) % 4, "labels"), 49, 4)


@pytest.mark.parametrize("d", [8, 1000])
def test_features_become_comparable_and_keep_their_distances(d):
    rows = RNG.normal(size=(30, d)) * 100
    first, second = comparable([rows, rows[:2] + 50])
    assert first.shape == (30, min(d, 256))
    expected = np.linalg.norm(50 * np.ones(d)) / np.sqrt(np.square(rows).mean())
    assert np.linalg.norm(second[0] - first[0]) == pytest.approx(expected, rel=0.15)


def test_sets_are_named_after_their_files(tmp_path):
    np.save(tmp_path / "today.npy", LOGITS)
    assert list(by_name([tmp_path / "today.npy", LOGITS])) == ["today", "set 2"]
    assert list(by_name({"a": LOGITS, 2024: LOGITS})) == ["a", "2024"]
    (tmp_path / "noon").mkdir()
    shutil.copy(tmp_path / "today.npy", tmp_path / "noon")
    both = [tmp_path / "today.npy", tmp_path / "noon/today.npy"]
    assert list(by_name(both)) == [path.as_posix() for path in both]
    for given, message in (
        (both[:1] * 2, "is given twice"),
        ([], "no unlabelled set"),
        (tmp_path / "none.npy", "o such file"),
        (LOGITS[:, :3], r"set 1 must have the shape \(2 or more, 4\)"),
    ):
        with pytest.raises(UnusableInput, match=message):
            unseen.estimate(LOGITS, LABELS, given)


def test_tensors_and_tables_are_read_as_arrays_are():
    tensor = torch.tensor(LOGITS, requires_grad=True)
    table = pd.DataFrame(LOGITS, index=range(60, 0, -1))
    for given in (tensor, table, table.astype(object), table.astype("Float32"), LOGITS.tolist()):
        np.testing.assert_array_equal(read_logits(read(given, "x")), LOGITS)
    np.testing.assert_allclose(read_logits(read(tensor.bfloat16(), "x")), LOGITS, rtol=0.01)
    for given in (tensor, table):
        assert list(by_name(given)) == ["set 1"]
        assert len(beside((given, given), ["today"], "features")) == 2


@pytest.mark.slow
def test_a_network_and_its_loaders_give_its_logits_and_features():
    torch.manual_seed(0)
    body = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 16), torch.nn.ReLU())
    network = torch.nn.Sequential(body, torch.nn.Linear(16, 3))
    images, labels = torch.rand(300, 3, 4, 4), torch.arange(300) % 3
    mine = DataLoader(TensorDataset(images[:200], labels[:200]), batch_size=64)
    new = DataLoader(images[200:], batch_size=64)
    logits, features = (
        [torch.cat([layer(batch) for batch in part.split(64)]) for part in (images[:200], images[200:])]
        for layer in (network, body)
    )
    found = unseen.estimate(network, mine, {"new": new})
    assert network.training
    same = unseen.estimate(logits[0], labels[:200], {"new": logits[1]}, features=features)
    pd.testing.assert_frame_equal(found.table, same.table)
    bare = unseen.estimate(lambda batch: 2 * network(batch), mine, new)
    assert (list(bare.table.index), bare.seen[0].features) == (["set 1"], None)
    with pytest.raises(UnusableInput, match=r"must be \(images, labels\)"):
        unseen.estimate(network, new, new)
    one_hot = TensorDataset(images[:200], torch.eye(3)[labels[:200]])
    pd.testing.assert_frame_equal(unseen.estimate(network, one_hot, {"new": images[200:]}).table, found.table)
    for wrong, message in (
        (torch.rand(200, 3).round(), "give an image several classes"),
        (torch.rand(200), "estimates the accuracy of classes, no regression"),
    ):
        with pytest.raises(UnusableInput, match=message):
            unseen.estimate(network, (images[:200], wrong), new)
