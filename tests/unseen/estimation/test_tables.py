"""What a stranger gives: tables, archives and arrays of many forms, read right or refused in a line."""

import numpy as np
import pandas as pd
import pytest

import unseen
from submission.errors import UnusableInput
from unseen.estimation.inputs import read_labels, read_logits
from unseen.estimation.tables import class_columns, read

RNG = np.random.default_rng(0)
LABELS = np.arange(120) % 4
LOGITS = RNG.normal(size=(120, 4)) + 2 * np.eye(4)[LABELS]
NAMES = ["None", "NA", "caf\xe9", "1e5"]
"""Names of classes that pandas takes for missing or for a number, and one with an accent."""


def table(**more):
    """The logits with headings, and further columns."""
    return pd.DataFrame(LOGITS, columns=list("abcd")).assign(**more)


@pytest.mark.parametrize("name", ["table.csv", "TABLE.CSV", "table.tsv", "table.txt"])
@pytest.mark.parametrize(
    ("separator", "decimal", "encoding"),
    [(",", ".", "utf-8"), (";", ",", "utf-8-sig"), ("\t", ",", "utf-16"), (";", ".", "cp1252")],
)
def test_tables_of_every_form_are_read(tmp_path, name, separator, decimal, encoding):
    frame = pd.DataFrame(LOGITS, columns=["caf\xe9", "b", "c", "d"])
    frame.to_csv(tmp_path / name, index=False, sep=separator, decimal=decimal, encoding=encoding)
    given = read(tmp_path / name, "logits")
    assert given.columns == tuple(frame.columns)
    np.testing.assert_allclose(read_logits(given), LOGITS, atol=1e-6)
    np.savetxt(tmp_path / "plain.txt", LOGITS, header="logits of today")
    np.testing.assert_allclose(read_logits(read(tmp_path / "plain.txt", "logits")), LOGITS, atol=1e-6)


def test_classes_with_names_of_missing_values_or_accents_keep_their_columns(tmp_path):
    """An accent in one character or two is the same name."""
    two = [name.replace("\xe9", "e\u0301") for name in NAMES]
    pd.DataFrame(LOGITS, columns=NAMES).to_csv(tmp_path / "val.csv", index=False)
    pd.DataFrame(LOGITS[:, ::-1], columns=two[::-1]).to_csv(tmp_path / "new.csv", index=False)
    pd.Series(np.array(two)[LABELS]).to_csv(tmp_path / "labels.csv", index=False, header=False)
    found = unseen.estimate(tmp_path / "val.csv", tmp_path / "labels.csv", tmp_path / "new.csv")
    same = unseen.estimate(LOGITS, LABELS, {"new": LOGITS})
    pd.testing.assert_frame_equal(found.table, same.table)
    assert found.classes == tuple(NAMES)


@pytest.mark.parametrize("start", [0, 1])
def test_columns_headed_by_numbers_are_read_in_the_order_of_the_numbers(tmp_path, start):
    numbered = pd.DataFrame(LOGITS, columns=range(start, start + 4))
    numbered.to_csv(tmp_path / "val.csv", index=False)
    numbered.iloc[:, [2, 0, 3, 1]].to_csv(tmp_path / "new.csv", index=False)
    for given in (tmp_path / "val.csv", tmp_path / "new.csv", numbered.iloc[:, ::-1]):
        np.testing.assert_allclose(read_logits(read(given, "logits")), LOGITS)
    names = [str(start + k) for k in (3, 1, 0, 2)]
    for labelled in (True, False):
        given = class_columns(read(tmp_path / "new.csv", "logits"), names, labelled=labelled)
        np.testing.assert_allclose(read_logits(given), LOGITS[:, [3, 1, 0, 2]])
        assert given.columns == tuple(names)


TIMES = pd.date_range("2026-01-01", periods=120).astype(str)
OTHERS = {"label": LABELS, "id": np.arange(120), "index": np.arange(120), "seen_at": TIMES}
OTHERS["camera"] = np.arange(120) % 7


@pytest.mark.parametrize("name", OTHERS)
def test_columns_that_are_no_classes_are_refused_or_left_out_by_name(tmp_path, name):
    """Nothing names the classes of the labelled images; those of a set are the labelled images'."""
    path = tmp_path / "table.csv"
    table(**{name: OTHERS[name]})[[name, *"dcab"]].to_csv(path, index=False)
    with pytest.raises(UnusableInput, match=f"has the columns {name}, which seem to be no classes"):
        class_columns(read(path, "logits"), (), labelled=True)
    given = class_columns(read(path, "logits"), tuple("abcd"), labelled=True)
    assert given.others == (name,)
    np.testing.assert_allclose(read_logits(given), LOGITS, atol=1e-6)
    found = unseen.estimate(table(), LABELS, {"new": path})
    pd.testing.assert_frame_equal(found.table, unseen.estimate(LOGITS, LABELS, {"new": LOGITS}).table)
    assert found.notes == (f"{path}: the columns {name} are no classes', and were left out",)


def test_rows_are_aligned_by_their_index_or_refused(tmp_path):
    """That of one side alone says nothing; a file has one in a column without a heading."""
    labels = pd.Series(LABELS).sample(frac=1, random_state=0)
    same = unseen.estimate(LOGITS, LABELS, {"new": LOGITS}).table
    pd.testing.assert_frame_equal(unseen.estimate(table(), labels, {"new": LOGITS}).table, same)
    with pytest.raises(UnusableInput, match=r"other names of rows.*reset_index\(drop=True\)"):
        unseen.estimate(table(), pd.Series(LABELS, index=np.arange(120) + 1), {"new": LOGITS})
    shifted = pd.Series(LABELS, index=np.arange(120) + 500)
    pd.testing.assert_frame_equal(unseen.estimate(LOGITS, shifted, {"new": LOGITS}).table, same)
    table().sample(frac=1, random_state=1).to_csv(tmp_path / "val.csv")
    labels.to_csv(tmp_path / "labels.csv")
    read_back = unseen.estimate(tmp_path / "val.csv", tmp_path / "labels.csv", {"new": LOGITS})
    assert read_back.accuracy == pytest.approx((LOGITS.argmax(axis=1) == LABELS).mean())


def test_an_archives_only_array_is_read_or_the_one_that_is_called_so(tmp_path):
    np.savez(tmp_path / "one.npz", anything=LOGITS)
    np.savez(tmp_path / "several.npz", Logits=LOGITS, labels=LABELS, ids=LABELS)
    np.savez(tmp_path / "unknown.npz", a=LOGITS, b=LABELS)
    for file in ("one.npz", "several.npz"):
        np.testing.assert_array_equal(read(tmp_path / file, "the set today").values, LOGITS)
    np.testing.assert_array_equal(read(tmp_path / "several.npz", "labels", "labels").values, LABELS)
    with pytest.raises(UnusableInput, match="holds the arrays a, b: leave one in it, or call one 'logits'"):
        read(tmp_path / "unknown.npz", "logits")


@pytest.mark.parametrize("ending", [".parquet", ".pkl", ".pt", ".xlsx", ".h5"])
def test_files_of_another_kind_are_told_with_what_turns_them_into_one(tmp_path, ending):
    (tmp_path / f"z{ending}").write_bytes(b"x" * 100)
    with pytest.raises(UnusableInput, match=rf"give .npy, .npz or .csv; for a {ending} file use "):
        read(tmp_path / f"z{ending}", "logits")


def test_an_offset_costs_no_digits_and_a_class_ruled_out_has_no_probability():
    far = read_logits(read(LOGITS + 1e7, "logits"))
    np.testing.assert_allclose(far, LOGITS - LOGITS.max(axis=1, keepdims=True), atol=1e-6)
    masked = np.column_stack([LOGITS, np.full((120, 2), -np.inf)])
    found = read_logits(read(masked, "logits"))
    np.testing.assert_array_equal(found[:, :4], LOGITS.astype(np.float32))
    assert np.exp(found[:, 4:] - found.max(axis=1, keepdims=True)).max() <= 1e-11


def test_one_probability_an_image_is_the_second_of_two_classes():
    p = RNG.random(120)
    for given in (p, p[:, None], pd.Series(p)):
        found = read_logits(read(given, "logits"), probabilities=True)
        np.testing.assert_allclose(np.exp(found), np.column_stack([1 - p, p]), rtol=1e-5)


FORMS = [LABELS[:, None], np.eye(4)[LABELS], LABELS.astype(float), LABELS.astype(object), [*map(int, LABELS)]]
FORMS += [pd.Series(LABELS, dtype="category"), pd.DataFrame({"id": np.arange(120), "label": LABELS})]
FORMS += [pd.Series(np.array(NAMES)[LABELS], dtype=kind) for kind in (object, str, "category")]


@pytest.mark.parametrize("labels", FORMS)
def test_labels_of_every_form_are_read(labels):
    np.testing.assert_array_equal(read_labels(read(labels, "labels"), 120, 4, NAMES), LABELS)
    np.testing.assert_array_equal(read_labels(read(LABELS > 1, "labels"), 120, 2), LABELS > 1)
