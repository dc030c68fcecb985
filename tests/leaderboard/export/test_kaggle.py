"""What Kaggle asks for: a metric that gives the kit's number, tables without labels, one message a part."""

import importlib.util
import inspect
import math
import typing
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from exports import START
from rules import with_rules

from leaderboard.export import export
from submission.predictions import write_answer
from submission.scoring import score_parts, validate
from submission.solution import solution_of, whole_solution, write_solution


@pytest.fixture
def out(competition, tmp_path):
    return export(with_rules(competition, decimals=2), "kaggle", tmp_path / "out", START)


@pytest.fixture
def metric(out):
    """The metric as Kaggle has it: a module of its own."""
    spec = importlib.util.spec_from_file_location("uploaded_metric", out / "host/metric.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def parts(out):
    """The rows of each part, as Kaggle passes them."""
    rows = pd.read_csv(out / "host/solution.csv")
    return {part: rows[rows["Usage"] == part].drop(columns="Usage") for part in ("Public", "Private")}


@pytest.fixture
def sample(out):
    return pd.read_csv(out / "data/sample_submission.csv")


def test_the_files_are_those_that_kaggle_asks_for(competition, out, sample):
    solution = pd.read_csv(out / "host/solution.csv")
    assert list(solution) == ["id", "target", "Usage"]
    assert set(solution["Usage"]) == {"Public", "Private"}
    assert list(sample) == ["id", "prediction"]
    assert list(sample["id"]) == list(solution["id"])
    hidden = {row.id: row.prediction for row in solution_of(competition)}
    assert dict(zip(solution["id"], solution["target"], strict=True)) == hidden


def test_the_metric_has_kaggles_signature(metric):
    signature = inspect.signature(metric.score)
    assert list(signature.parameters) == ["solution", "submission", "row_id_column_name"]
    assert typing.get_type_hints(metric.score)["return"] is float
    assert ">>> score(" in metric.score.__doc__


def test_the_number_is_the_kits_in_any_order(competition, metric, parts, ranked):
    for part, rows in parts.items():
        for path in ranked.values():
            expected = round(
                score_parts(validate(competition, path), solution_of(competition))[part.lower()], 2
            )
            submission = pd.read_csv(path)
            assert metric.score(rows, submission, "id") == expected
            assert metric.score(rows, submission.sample(frac=1, random_state=0), "id") == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prediction": ["1_0"] + [0.5] * 7}, "'1_0' is not a plain"),
        ({"prediction": [0.1, math.nan] * 4}, "'' is not a plain"),
        ({"prediction": [0.1, -0.2] * 4}, "'-0.2' is outside"),
        ({"prediction": [12, 51, 80.5, 7] * 2}, "percentage"),
        ({"id": ["cnn/test_0001\ncnn/test_0002", *"1234567"]}, "unknown id|none of its ids"),
        ({"more": [1] * 8}, "the header is"),
    ],
)
def test_participants_are_told_what_is_wrong_and_no_target(metric, parts, sample, change, message):
    hidden = parts["Public"].assign(target=np.linspace(0.123456, 0.654321, len(parts["Public"])))
    with pytest.raises(metric.ParticipantVisibleError, match=message) as caught:
        metric.score(hidden, sample.assign(**change), "id")
    assert not any(str(target) in str(caught.value) for target in hidden["target"])


def test_numbers_without_ids_are_no_submission(metric, parts, sample, tmp_path):
    write_answer(tmp_path / "answer.txt", dict(zip(sample["id"], sample["prediction"], strict=True)))
    for submission in (pd.read_csv(tmp_path / "answer.txt"), sample[["prediction"]], sample[["id"]]):
        with pytest.raises(metric.ParticipantVisibleError, match="id and prediction are needed"):
            metric.score(parts["Public"], submission, "id")


def test_of_one_part_alone_every_fault_has_the_same_message(metric, parts, sample):
    """Else two faults in two rows, or percentages in half of them, would tell which of them the part has."""
    rows = parts["Public"]
    alone = sample[sample["id"].isin(rows["id"])].reset_index(drop=True)
    assert metric.score(rows, alone, "id") == metric.score(rows, sample, "id")
    faults = [alone.assign(prediction=[value, *[0.5] * 3]) for value in (math.nan, 2.0, 50.0)]
    for fault in (*faults, alone.assign(prediction=50.0)):
        with pytest.raises(metric.ParticipantVisibleError) as caught:
            metric.score(rows, fault, "id")
        assert str(caught.value) == metric.RULES
    for part, fewer in (("Private", alone), ("Public", alone.iloc[1:])):
        with pytest.raises(metric.ParticipantVisibleError, match="missing"):
            metric.score(parts[part], fewer, "id")


def test_participants_data_hold_no_label(competition, out, tmp_path):
    with zipfile.ZipFile(out / "data/participants.zip") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    content += (out / "data/sample_submission.csv").read_bytes()
    for row in solution_of(competition):
        if row.prediction != 0.5:  # which the sample has
            assert f"{row.id},{row.prediction!r}".encode() not in content
    assert b"Usage" not in content


def test_a_voided_set_is_ignored_and_its_label_is_not_there(competition, tmp_path):
    rows = [
        replace(row, usage="Ignored") if row.set == "test_0002" else row
        for row in whole_solution(competition)
    ]
    write_solution(competition.private / "solution.csv", rows)
    competition.save()
    solution = pd.read_csv(export(competition, "kaggle", tmp_path / "out", START) / "host/solution.csv")
    ignored = solution[solution["Usage"] == "Ignored"]
    assert list(ignored["id"]) == ["cnn/test_0002", "vit:b/test_0002"]
    assert set(ignored["target"]) == {0.0}
