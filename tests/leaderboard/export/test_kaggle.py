"""The metric keeps Kaggle's rules and gives the kit's number; no label lies in what participants get."""

import importlib.util
import inspect
import json
import math
import typing
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from exports import START, Bare
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.export import export, kaggle_metric
from leaderboard.export.kaggle import metric
from submission import Competition, score_submission, write_solution
from submission.metrics import score as kit_score
from submission.solution import solution_of, whole_solution

SOLUTION = pd.DataFrame({"id": ["m/a", "m/b", "m/c"], "target": [0.2, 0.5, 0.9]})


@pytest.fixture
def out(competition: Competition, tmp_path: Path) -> Path:
    return export(competition, "kaggle", tmp_path / "out", START)


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("uploaded_metric", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_those_that_kaggle_asks_for(competition: Competition, out: Path) -> None:
    solution = pd.read_csv(out / "host/solution.csv")
    sample = pd.read_csv(out / "data/sample_submission.csv")
    assert list(solution) == ["id", "target", "Usage"]
    assert set(solution["Usage"]) == {"Public", "Private"}
    assert list(sample) == ["id", "prediction"]
    assert sorted(sample["id"]) == sorted(solution["id"])
    assert sample["id"].is_unique
    hidden = {row.id: row.prediction for row in solution_of(competition)}
    assert dict(zip(solution["id"], solution["target"], strict=True)) == hidden


def test_the_metric_has_kaggles_signature(out: Path) -> None:
    module = loaded(out / "host/metric.py")
    signature = inspect.signature(module.score)
    assert list(signature.parameters)[:3] == ["solution", "submission", "row_id_column_name"]
    assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())
    assert all(p.default is not inspect.Parameter.empty for p in list(signature.parameters.values())[3:])
    assert typing.get_type_hints(module.score)["return"] is float
    assert ">>> score(" in (module.score.__doc__ or "")
    assert issubclass(module.ParticipantVisibleError, Exception)
    assert "lower is better" in (module.score.__doc__ or "")


@pytest.mark.parametrize("decimals", [0, 2, 5])
def test_scores_are_rounded_as_the_competition_says(decimals: int) -> None:
    text = metric(decimals, ["m/a"])
    assert f"decimals: int = {decimals},\n" in text
    assert text.count("decimals: int = ") == 1


SCORE = """
import json, sys
import pandas as pd
import metric
solution = pd.read_csv("solution.csv")
found = {}
for usage in ("Public", "Private"):
    rows = solution[solution["Usage"] == usage].drop(columns="Usage")
    found[usage] = [metric.score(rows, pd.read_csv(path), "id", decimals=15) for path in sys.argv[1:]]
print(json.dumps(found))
"""


def test_the_number_is_the_kits_and_the_order_the_right_one(
    competition: Competition, out: Path, ranked: dict[str, Path], bare: Bare
) -> None:
    done = bare("-c", SCORE, *ranked.values(), cwd=out / "host")
    assert done.returncode == 0, done.stderr
    for usage, scores in json.loads(done.stdout).items():
        for found, path in zip(scores, ranked.values(), strict=True):
            expected = getattr(score_submission(competition, path), usage.lower()).rmse
            assert abs(found - expected) <= 1e-12
        assert scores == sorted(scores), "oracle, baseline, constant: lower is better"


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
)
def test_the_number_is_the_kits_whatever_the_order(
    pairs: list[tuple[float, float]], random: typing.Any
) -> None:
    ids = [f"m/s{i}" for i in range(len(pairs))]
    targets = {name: target for name, (target, _) in zip(ids, pairs, strict=True)}
    predictions = {name: prediction for name, (_, prediction) in zip(ids, pairs, strict=True)}
    expected = kit_score(predictions, targets, lambda name: "m").rmse
    shuffled = random.sample([*predictions.items(), ("m/other", 0.5)], len(pairs) + 1)
    found = kaggle_metric.score(
        pd.DataFrame({"id": ids, "target": list(targets.values())}),
        pd.DataFrame(shuffled, columns=["id", "prediction"]),
        "id",
        decimals=17,
    )
    assert abs(found - expected) <= 1e-12


@pytest.mark.parametrize(
    ("ids", "predictions", "message"),
    [
        (["m/a", "m/b"], [0.1, 0.2], "It must have exactly the ids of the sample submission."),
        (["m/a", "m/b", "m/b"], [0.1, 0.2, 0.3], "The id 'm/b' is given twice."),
        (["m/a", "m/b", "m/c"], [0.1, 0.2, "1_0"], "Predictions must be plain decimal numbers."),
        (["m/a", "m/b", "m/c"], [True, False, True], "Predictions must be plain decimal numbers."),
        (["m/a", "m/b", "m/c"], [0.1, math.nan, 0.2], "Every prediction must be a finite number"),
        (["m/a", "m/b", "m/c"], [0.1, math.inf, 0.2], "Every prediction must be a finite number"),
        (["m/a", "m/b", "m/c"], [0.1, 1.2, 0.2], r"Predictions must be fractions in \[0, 1\]."),
        (["m/a", "m/b", "m/c"], [0.1, -0.2, 0.2], r"Predictions must be fractions in \[0, 1\]."),
        (
            ["m/a", "m/b", "m/c"],
            [12, 51, 80.5],
            "Every prediction looks like a percentage: divide them by 100.",
        ),
    ],
)
def test_participants_are_told_what_is_wrong(ids: list[str], predictions: list, message: str) -> None:
    submission = pd.DataFrame({"id": ids, "prediction": predictions})
    with pytest.raises(kaggle_metric.ParticipantVisibleError, match=message):
        kaggle_metric.score(SOLUTION, submission, "id")


def test_a_missing_column_is_named() -> None:
    with pytest.raises(kaggle_metric.ParticipantVisibleError, match="The column 'prediction' is missing"):
        kaggle_metric.score(SOLUTION, pd.DataFrame({"id": ["m/a"], "Prediction": [0.5]}), "id")


def test_a_target_never_shows_in_a_message() -> None:
    hidden = SOLUTION.assign(target=[0.123456, 0.654321, 0.777777])
    for predictions in ([2, 3, 4.5], [np.nan] * 3, ["x"] * 3):
        with pytest.raises(kaggle_metric.ParticipantVisibleError) as caught:
            kaggle_metric.score(hidden, SOLUTION[["id"]].assign(prediction=predictions), "id")
        assert not any(str(target) in str(caught.value) for target in hidden["target"])


def test_participants_data_hold_no_label(competition: Competition, out: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(out / "data/participants.zip") as archive:
        archive.extractall(tmp_path / "unzipped")
    (out / "data/participants.zip").unlink()
    files = [path for folder in (out / "data", tmp_path / "unzipped") for path in folder.rglob("*.*")]
    content = b"".join(path.read_bytes() for path in files)
    for row in solution_of(competition):
        if row.prediction != 0.5:  # which the sample has
            assert f"{row.id},{row.prediction!r}".encode() not in content
    assert b"Usage" not in content


def test_a_voided_set_is_ignored_and_the_samples_agree(competition: Competition, tmp_path: Path) -> None:
    rows = [
        replace(row, usage="Ignored") if row.set == "test_0002" else row
        for row in whole_solution(competition)
    ]
    write_solution(competition.private / "solution.csv", rows)
    competition.save()
    out = export(competition, "kaggle", tmp_path / "out", START)
    solution = pd.read_csv(out / "host/solution.csv")
    assert list(solution["id"]) == list(competition.ids("test"))
    ignored = solution[solution["Usage"] == "Ignored"]
    assert list(ignored["id"]) == ["cnn/test_0002", "vit:b/test_0002"]
    assert set(ignored["target"]) == {0.0}
    sample = (out / "data/sample_submission.csv").read_bytes()
    with zipfile.ZipFile(out / "data/participants.zip") as archive:
        assert archive.read(f"{competition.root.name}/public/sample_submission.csv") == sample
    submission = pd.read_csv(out / "data/sample_submission.csv")
    assert loaded(out / "host/metric.py").score(solution[solution["Usage"] == "Public"], submission, "id") > 0


@pytest.mark.parametrize("kept", ["Public", "Private"])
def test_a_file_without_the_ids_of_one_part_is_refused_and_none_is_named(out: Path, kept: str) -> None:
    module, solution = loaded(out / "host/metric.py"), pd.read_csv(out / "host/solution.csv")
    sample = pd.read_csv(out / "data/sample_submission.csv")
    part = sample[sample["id"].isin(solution["id"][solution["Usage"] == kept])]
    for usage in ("Public", "Private"):
        with pytest.raises(module.ParticipantVisibleError) as caught:
            module.score(solution[solution["Usage"] == usage], part, "id")
        assert str(caught.value) == "It must have exactly the ids of the sample submission."
    rows = solution[solution["Usage"] == kept]
    found = module.score(rows, sample, "id")
    assert module.score(rows, part, "id", aligned=True) == found
    with pytest.raises(module.ParticipantVisibleError, match="exactly the ids"):
        module.score(rows, part.iloc[1:], "id", aligned=True)


def test_of_one_part_alone_every_fault_has_the_same_message(out: Path) -> None:
    """Else two faults in two rows, or percentages in half of them, would tell which of them the part has."""
    module, solution = loaded(out / "host/metric.py"), pd.read_csv(out / "host/solution.csv")
    part = solution[solution["Usage"] == "Public"][["id"]].assign(prediction=0.5).reset_index(drop=True)
    faults = [part.assign(prediction=[value, *part["prediction"][1:]]) for value in (math.nan, 2.0, 50.0)]
    faults += [part.assign(prediction=50.0), part.iloc[1:], part.assign(id=part["id"][0])]
    for fault in faults:
        with pytest.raises(module.ParticipantVisibleError) as caught:
            module.score(solution[solution["Usage"] == "Public"], fault, "id", aligned=True)
        assert str(caught.value) == module.RULES


def test_two_ids_in_one_field_are_not_both_ids(out: Path) -> None:
    """Else a score would say that neither is in the part that counts."""
    module, solution = loaded(out / "host/metric.py"), pd.read_csv(out / "host/solution.csv")
    sample = pd.read_csv(out / "data/sample_submission.csv")
    first, second = sorted(solution["id"])[:2]
    others = solution[~solution["id"].isin([first, second])]
    fewer = sample[sample["id"] != second].replace({"id": {first: f"{first}\n{second}"}})
    with pytest.raises(module.ParticipantVisibleError, match="exactly the ids"):
        module.score(others, fewer, "id")


def test_in_a_competition_of_other_decimals_the_metric_has_them(
    competition: Competition, tmp_path: Path
) -> None:
    coarse = replace(competition, decimals=1)
    coarse.save()
    text = (export(coarse, "kaggle", tmp_path / "out", START) / "host/metric.py").read_text()
    assert "decimals: int = 1" in text
