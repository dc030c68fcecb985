"""Competitions that OpenVINO observes: what they record, and who may take part."""

import json

import numpy as np
import pytest

from starter.contest.audit import computed_by
from starter.contest.build import build
from starter.contest.tracks import open_subjects
from starter.models.classifiers import engine
from starter.models.classifiers.engine import TOLERANCES
from submission import Competition, UnusableInput
from submission.errors import tell_once

pytest.importorskip("openvino")


@pytest.fixture
def asked(settings, weights):
    return settings(engine="openvino", precision="float32", classifiers=(f"tiny={weights}",))


def observed(competition: Competition) -> np.ndarray:
    """The logits of the first validation set."""
    return open_subjects(competition, ())["tiny"].observations("val")[0].logits


def test_engine_and_precision_belong_to_the_competition(
    asked, settings, weights, tmp_path, monkeypatch, capsys
):
    root = tmp_path / "contest"
    competition = Competition.open(build(root, asked, 11).root)
    assert (competition.engine, competition.precision) == ("openvino", "float32")
    assert "tiny (float32 by openvino)" in competition.describe()
    assert [text for _, text in computed_by(competition)] == [
        "logits in float32 by openvino; where something else computes them, logits may differ by 0.01 % "
        "of the largest"
    ]
    rounded = {"engine": "torch", "settings": {**competition.settings, "float32": "TF32"}}
    assert [text for _, text in computed_by(competition.model_copy(update=rounded))] == [
        "logits in TF32; where something else computes them, logits may differ by 1 % of the largest"
    ]
    record = json.loads((root / "private/build.json").read_text())["settings"]
    assert (record["engine"], record["precision"]) == ("openvino", "float32")
    left_open = settings(classifiers=(f"tiny={weights}",))
    assert build(root, left_open).engine == "openvino"
    with pytest.raises(UnusableInput, match="engine: openvino here, torch asked for"):
        build(root, settings(engine="torch", classifiers=(f"tiny={weights}",)))

    logits, entries = observed(competition), len(list((root / "cache/logits").iterdir()))
    capsys.readouterr()
    tell_once.cache_clear()
    monkeypatch.setattr(engine, "_missing", lambda: "openvino is not installed")
    elsewhere = observed(competition)
    assert len(list((root / "cache/logits").iterdir())) > entries
    assert np.abs(elsewhere - logits).max() <= TOLERANCES["float32"] * np.abs(logits).max()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "openvino is not installed: torch computes in float32 instead of openvino in float32"
    )
