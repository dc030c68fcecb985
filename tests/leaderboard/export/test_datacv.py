"""DataCV's form: positional answers in the order of the ids, scored by the kit's own program."""

import json
from pathlib import Path

import pandas as pd
import pytest
from exports import START, Bare

from leaderboard.export import export
from submission import Competition, score_submission, validate
from submission.datacv import write_answer
from submission.predictions import read_predictions
from submission.solution import solution_of


@pytest.fixture
def out(competition: Competition, tmp_path: Path) -> Path:
    return export(competition, "datacv", tmp_path / "out", START)


def test_the_sample_and_the_order_of_its_lines(competition: Competition, out: Path) -> None:
    order = pd.read_csv(out / "participants/order.csv")
    assert list(order["line"]) == list(range(1, 9))
    assert list(order["id"]) == list(competition.ids("test"))
    sample = validate(competition, out / "participants/answer.txt")
    assert set(sample.values()) == {0.5}


@pytest.mark.parametrize("usage", ["public", "final"])
@pytest.mark.parametrize("name", ["answer.txt", "answer.zip", "mine.csv"])
def test_the_program_gives_the_kits_number_and_the_right_order(
    competition: Competition,
    out: Path,
    ranked: dict[str, Path],
    bare: Bare,
    tmp_path: Path,
    usage: str,
    name: str,
) -> None:
    scores = []
    for method, path in ranked.items():
        folder = tmp_path / method
        (folder / "input/res").mkdir(parents=True)
        (folder / "output").mkdir()
        (folder / "input/ref").symlink_to(out / f"host/reference_{usage}")
        if name == "mine.csv":
            (folder / "input/res/mine.csv").write_bytes(path.read_bytes())
        else:
            write_answer(folder / "input/res" / name, read_predictions(path, competition.ids("test")))
        done = bare(out / "host/scoring_program/score.py", folder / "input", folder / "output", cwd=folder)
        assert done.returncode == 0, done.stderr
        scores.append(json.loads((folder / "output/scores.json").read_text())["rmse"])
        found = score_submission(competition, folder / "input/res" / name)
        part = found.public if usage == "public" else found.private
        assert abs(scores[-1] - round(part.rmse, 2)) <= 1e-12
    assert scores == sorted(scores), "oracle, baseline, constant: lower is better"


def test_participants_files_hold_no_label(competition: Competition, out: Path) -> None:
    content = b"".join(p.read_bytes() for p in (out / "participants").rglob("*") if p.is_file())
    assert not any(
        f"{row.prediction:.6f}".encode() in content
        for row in solution_of(competition)
        if row.prediction != 0.5
    )
