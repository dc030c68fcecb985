"""Files of predictions: what is written is read back, and only a regular file is read."""

import os
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from predicted import as_predicted

from submission.errors import InvalidSubmission, UnusableInput
from submission.files import sha256
from submission.predictions import (
    predicted_files,
    read_predictions,
    write_answer,
    write_predictions,
    write_sample,
)
from submission.scoring import validate

IDS = ("m/a", "m/b", "m/c")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_what_is_written_is_read_back(tmp_path_factory, values):
    """Bit by bit from a CSV, to six decimals from an answer."""
    folder = tmp_path_factory.getbasetemp()
    predictions = {f"m/s{number}": value for number, value in enumerate(values)}
    write_predictions(folder / "a.csv", predictions)
    found = read_predictions(folder / "a.csv", tuple(predictions))
    assert list(found) == list(predictions)
    bits = [struct.pack("d", value) for value in found.values()]
    assert bits == [struct.pack("d", value + 0.0) for value in values]
    write_answer(folder / "answer.txt", predictions)
    found = read_predictions(folder / "answer.txt", tuple(predictions))
    assert list(found.values()) == pytest.approx(values, abs=5.1e-7)


def test_files_look_like_this(tmp_path):
    write_predictions(tmp_path / "a.csv", {"m/a": 0.1, "m/b": 1}, column="target")
    assert (tmp_path / "a.csv").read_bytes() == b"id,target\nm/a,0.1\nm/b,1.0\n"
    write_sample(tmp_path / "sample.csv", ["m/a", "m/b"])
    assert (tmp_path / "sample.csv").read_bytes() == b"id,prediction\nm/a,0.5\nm/b,0.5\n"
    write_answer(tmp_path / "answer.txt", {"m/a": 0.1, "m/b": 0.87654321})
    assert (tmp_path / "answer.txt").read_bytes() == b"0.100000\n0.876543\n"


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "big.csv"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(InvalidSubmission, match="too large"):
        read_predictions(path, IDS)


@pytest.mark.parametrize(
    "make", [Path.mkdir, lambda path: path.symlink_to("nowhere"), os.mkfifo, lambda path: None]
)
def test_what_is_no_file_is_an_unusable_argument(tmp_path, make):
    path = tmp_path / "a.csv"
    make(path)
    with pytest.raises(UnusableInput, match=r"a\.csv (is not a file|cannot be read: No such file)"):
        read_predictions(path, IDS)


@pytest.mark.parametrize("name", ["mine.ZIP", "mine.csv", "mine"])
def test_a_file_is_read_by_its_content_whatever_its_name(competition, tmp_path, name):
    values = dict(zip(competition.ids("test"), [k / 8 for k in range(8)], strict=True))
    write_predictions(tmp_path / "plain.csv", values)
    write_answer(tmp_path / "answer.txt", values)
    with zipfile.ZipFile(tmp_path / "plain.zip", "w") as archive:
        archive.write(tmp_path / "answer.txt", "answer.txt")
    for source in ("plain.csv", "answer.txt", "plain.zip"):
        (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / name).symlink_to(source)
        assert validate(competition, tmp_path / name) == values


def test_a_file_of_predictions_is_known_by_its_path_and_bytes(competition):
    assert predicted_files(competition.root) == {}
    path = competition.root / "submissions" / "a.csv"
    write_predictions(path, dict.fromkeys(competition.ids("test"), 0.5))
    as_predicted(competition)
    assert predicted_files(competition.root) == {"submissions/a.csv": {sha256(path): "baseline"}}
