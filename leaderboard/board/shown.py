"""The kit's methods that the board shows before the end, and the prior knowledge of a participant.

The methods are chosen once, by their scores on the labelled validation sets, which everybody knows, and kept
in ``private/shown/``: another choice, or other files, would publish further numbers about the same labels.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leaderboard.board.part import Part
from leaderboard.board.results import read_methods
from leaderboard.board.table import CONSTANT
from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.predictions import read_predictions, write_predictions
from submission.scoring import constant_error, constant_predictions
from submission.told import LEAST

MOST = 3
"""Largest number of baselines on the board before the end."""


@dataclass(frozen=True)
class Shown:
    """The knowledge of everybody before the first submission.

    Attributes:
        baselines: Predictions of the shown baselines for the test sets, {name: {id: fraction}}; the best on
            the validation sets comes first.
        prior: Predictions of the first baseline, or the mean of the meta-train sets if none is shown.
        error: RMSE of `prior` on the labelled sets, in points.
    """

    baselines: Mapping[str, Mapping[str, float]]
    prior: Mapping[str, float]
    error: float


def shown(competition: Competition) -> Shown:
    """Returns the baselines to show; on the first call with methods they are chosen and kept.

    Raises:
        UnusableInput: a kept file, or a file of the competition, is damaged.
    """
    folder = competition.private / "shown"
    kept = sorted(folder.glob("*.csv"))
    if kept and kept[0].name.startswith("0-"):  # the last one that is written
        baselines = {path.stem.partition("-")[2]: _kept(competition, path) for path in kept}
    else:
        found = read_methods(competition).predictions
        baselines = {name: found[name] for name in _chosen(competition, found)}
        if os.access(competition.private, os.W_OK):  # a copy may be read alone
            files = {f"{place}-{name}.csv": found[name] for place, name in enumerate(baselines)}
            for path in kept:
                if path.name not in files:
                    path.unlink(missing_ok=True)
            for file, values in reversed(files.items()):
                write_predictions(folder / file, values)
    scores = validation_scores(competition)
    best = next(iter(baselines), None)
    if best is not None and best in scores:
        return Shown(baselines, baselines[best], max(scores[best], LEAST))
    prior = _mean(competition) if best is None else baselines[best]
    return Shown(baselines, prior, constant_error(competition))


def _kept(competition: Competition, path: Path) -> dict[str, float]:
    try:
        return read_predictions(path, competition.ids("test"))
    except InvalidSubmission as error:
        raise UnusableInput(f"{path} is damaged: {error.problems[0]}; restore it from a backup") from error


def validation_scores(competition: Competition) -> dict[str, float]:
    """Returns the RMSE on the validation sets, in points, of every method with a valid file there."""
    if not competition.sets("val"):
        return {}
    part = Part.of_validation(competition)
    found = read_methods(competition, "val").predictions
    return {name: part.of_method(values)[0].rmse for name, values in found.items()}


def _chosen(competition: Competition, methods: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Returns the best two methods on the validation sets and `CONSTANT`, or else the best three."""
    scores = validation_scores(competition)
    ordered = sorted(methods, key=lambda name: (scores.get(name, math.inf), name))
    others = [name for name in ordered if name != CONSTANT]
    if CONSTANT in methods:
        others = others[: MOST - 1]
    return [name for name in ordered if name == CONSTANT or name in others][:MOST]


def _mean(competition: Competition) -> dict[str, float]:
    """Returns the mean of the meta-train sets for every id; 0.5 if their targets are missing."""
    try:
        return constant_predictions(competition, "test")
    except UnusableInput:
        return dict.fromkeys(competition.ids("test"), 0.5)
