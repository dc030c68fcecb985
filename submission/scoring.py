"""Functions that validate and score a file of predictions, the same for participants and organizers."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from submission.competition import Competition
from submission.datacv import first_line, parse_answer, starts_with_number
from submission.errors import InvalidSubmission, UnusableInput
from submission.ids import foreign, split_id
from submission.metrics import Score, deviation_floor, noise_floor, score, skill
from submission.predictions import (
    ANSWER,
    is_zip,
    most_bytes,
    named_ids,
    parse_predictions,
    read_bytes,
    read_predictions,
    unzipped,
)
from submission.seal import DEVIATIONS, check_sealed
from submission.solution import SolutionRow, solution_of
from submission.told import LEAST, UNKNOWN
from submission.tracks import TRACKS

NOISE = {"val": "val/noise.csv", "test": DEVIATIONS}
"""Files with the standard deviations of the targets: "val" below ``public/``, "test" below the folder."""
SCORER = "rmse-points/1"
"""Name and version of the scoring; every change that alters a score gets a new number."""


@dataclass(frozen=True)
class SubmissionScore:
    """The score of a submission on the public part, the private part and all of the test sets."""

    public: Score
    private: Score
    overall: Score


def validate(competition: Competition, path: Path, part: str = "test") -> dict[str, float]:
    """Returns the predictions in a file for the sets of `part`, in the order of the ids.

    The file is a CSV, or an ``answer.txt`` in the format of the DataCV challenges; either may be the only
    member of a zip. ``private/`` is not needed.

    Raises:
        InvalidSubmission: the file breaks the format; every problem is named.
        UnusableInput: the file cannot be read.
    """
    return parse_submission(competition, read_bytes(path, competition.ids(part)), path, part)


def parse_submission(
    competition: Competition, data: bytes, path: Path, part: str = "test"
) -> dict[str, float]:
    """Returns the predictions in the bytes of the file `path`, as :func:`validate` does.

    The format is recognised by the content alone: a zip by its first bytes, an answer by its first line, a
    number. The name only changes the words of a problem; a file that is kept under its hash has lost its
    name.

    Raises:
        InvalidSubmission: the content breaks the format, or is for the other part; every problem is named.
    """
    ids, name, ending = competition.ids(part), str(path), path.suffix.lower()
    other = {"test": "val", "val": "test"}[part]
    if is_zip(data):
        member, data = unzipped(data, name, most_bytes(ids))
        ending = Path(member).suffix.lower()
    is_answer = starts_with_number(data) or (ending == ".txt" and b"," not in first_line(data))
    parse = parse_answer if is_answer else parse_predictions
    try:
        return parse(data, ids, name)
    except InvalidSubmission as error:
        if ending == ".zip":
            problem = f"not a zip of one {ANSWER} or .csv file: a zip must begin with its member"
            raise InvalidSubmission(name, [problem]) from error
        names = {"test": "test sets (submissions/)", "val": "validation sets (validation/)"}
        if _fits(parse, data, competition.ids(other)):
            problem = f"these are predictions for the {names[other]}, not for the {names[part]}"
        elif is_answer or not (
            problem := foreign(named_ids(data, name), competition.subjects, competition.track)
        ):
            raise
        raise InvalidSubmission(name, [problem]) from error


def _fits(parse: Callable[..., object], data: bytes, ids: Sequence[str]) -> bool:
    try:
        return bool(ids and parse(data, ids, ""))
    except InvalidSubmission:
        return False


def read_targets(competition: Competition, part: str) -> dict[str, float]:
    """Returns the targets of the "train" or "val" sets, {id: fraction}, in the order of the ids.

    Raises:
        UnusableInput: the file is missing or damaged.
    """
    path = competition.file(f"{part}/targets.csv")
    try:
        return read_predictions(path, competition.ids(part), column="target")
    except InvalidSubmission as error:
        raise UnusableInput(f"{path} does not fit public/competition.json: {error.problems[0]}") from error


def score_validation(competition: Competition, path: Path, metric: str | None = None) -> Score:
    """Returns the score of a file on the labelled validation sets for one metric, by default the ranking one.

    ``private/`` is not needed.

    Raises:
        InvalidSubmission: the file breaks the format.
        UnusableInput: the file cannot be read, or there are no validation sets.
    """
    if not competition.sets("val"):
        raise UnusableInput(f"{competition.root} has no validation sets to score against")
    return score(validate(competition, path, "val"), _validation_targets(competition, metric), _subject)


def _validation_targets(competition: Competition, metric: str | None = None) -> dict[str, float]:
    """Returns the targets of the validation sets for one metric, by default the ranking one."""
    targets = read_targets(competition, "val")
    return {name: targets[name] for name in competition.by_metric(targets)[metric or competition.metrics[0]]}


def score_submission(competition: Competition, path: Path) -> SubmissionScore:
    """Returns the score of a submission against the hidden labels; only the organizer can compute it.

    The hidden labels are read only after the file was found valid.

    Raises:
        InvalidSubmission: the file breaks the format.
        UnusableInput: the file cannot be read, or this is a participant's copy of the competition.
    """
    competition.require_private()
    predictions = validate(competition, path)
    return score_against(predictions, solution_of(competition))


def score_against(predictions: Mapping[str, float], solution: Sequence[SolutionRow]) -> SubmissionScore:
    """Returns the score of valid predictions, {id: fraction}, on a solution with public and private rows."""
    public = [row for row in solution if row.usage == "Public"]
    private = [row for row in solution if row.usage == "Private"]
    return SubmissionScore(*(score_rows(predictions, rows) for rows in (public, private, solution)))


def score_rows(predictions: Mapping[str, float], rows: Sequence[SolutionRow]) -> Score:
    """Returns the score of valid predictions, {id: fraction}, on one or more rows of a solution."""
    return score(predictions, {row.id: row.prediction for row in rows}, _subject)


def _subject(name: str) -> str:
    return split_id(name)[0]


def constant_predictions(competition: Competition, part: str) -> dict[str, float]:
    """Returns for every id of `part` the mean target of its subject's meta-train sets, {id: fraction}.

    These are the predictions of the method `constant`, against which skill is measured. Only public files are
    read.
    """
    targets: dict[str, list[float]] = {}
    for name, value in read_targets(competition, "train").items():
        targets.setdefault(_subject(name), []).append(value)
    means = {subject: sum(values) / len(values) for subject, values in targets.items()}
    return {name: means[_subject(name)] for name in competition.ids(part)}


def noise_floor_of(competition: Competition, part: str, targets: Mapping[str, float]) -> float:
    """Returns the noise floor on ids of "val" or "test": the RMSE in points of chance alone.

    It is nan if the file with the standard deviations of the test targets is missing
    (docs/decisions/0038-noise-floor.md).

    Raises:
        UnusableInput: the file with the deviations is damaged, not the sealed one, or missing for "val".
    """
    names = list(targets)
    if not TRACKS[competition.track].deviations:
        sizes = [competition.sizes[part][competition.set_of(name)] for name in names]
        return noise_floor(list(targets.values()), sizes)
    path = competition.file(NOISE["val"]) if part == "val" else competition.root / NOISE["test"]
    if not path.is_file():
        return math.nan
    if part == "test":
        check_sealed(competition.root, DEVIATIONS)
    try:
        deviations = read_predictions(path, competition.ids(part), column="deviation")
    except InvalidSubmission as error:
        raise UnusableInput(f"{path} is damaged: {error.problems[0]}") from error
    return deviation_floor([deviations[name] for name in names])


def constant_error(competition: Competition) -> float:
    """Returns the RMSE in points of :func:`constant_predictions` on the validation, else meta-train sets.

    It is the error of a participant without a method; `UNKNOWN` if labelled sets are missing.
    """
    try:
        part = "val" if competition.sets("val") else "train"
        targets, predicted = read_targets(competition, part), constant_predictions(competition, part)
    except UnusableInput:
        return UNKNOWN
    names = competition.by_metric(targets)[competition.metrics[0]]
    return max(score(predicted, {name: targets[name] for name in names}, _subject).rmse, LEAST)


def validation_report(competition: Competition, path: Path) -> str:
    """Returns the score of a file on the validation sets as text, with `constant` and the noise floor.

    Several metrics get a text each; the first metric ranks.

    Raises:
        InvalidSubmission, UnusableInput: as :func:`score_validation`.
    """
    titles = TRACKS[competition.track].metrics
    texts = {metric: _metric_report(competition, path, metric) for metric in competition.metrics}
    if competition.track == "accuracy":
        return next(iter(texts.values()))
    return "\n\n".join(f"{titles[metric]}\n{text}" for metric, text in texts.items())


def validation_scores(competition: Competition, path: Path) -> dict[str, dict[str, float | None]]:
    """Returns the scores of a file on the validation sets: for each metric, its values by name; nan is None.

    Raises:
        InvalidSubmission, UnusableInput: as :func:`score_validation`.
    """
    found: dict[str, dict[str, float | None]] = {}
    for metric in competition.metrics:
        told, targets = score_validation(competition, path, metric), _validation_targets(competition, metric)
        floor = noise_floor_of(competition, "val", targets)
        values = {"rmse": told.rmse, "mae": told.mae, "spearman": told.spearman, "noise_floor": floor}
        found[metric] = {name: None if math.isnan(value) else value for name, value in values.items()}
        found[metric]["n"] = told.n
    return found


def _metric_report(competition: Competition, path: Path, metric: str) -> str:
    found, targets = score_validation(competition, path, metric), _validation_targets(competition, metric)
    constant = score(constant_predictions(competition, "val"), targets, _subject)
    floor = noise_floor_of(competition, "val", targets)
    gained = round(skill(found.rmse, constant.rmse), 3) + 0.0  # no -0.000
    lines = [
        f"RMSE         {found.rmse:.2f} points over {found.n} predictions",
        f"skill        {gained:.3f} (constant: RMSE {constant.rmse:.2f})",
        f"MAE          {found.mae:.2f} points",
        f"Spearman     {found.spearman:.3f}",
        f"noise floor  {floor:.2f} points: the sampling noise of the true values",
    ]
    return "\n".join(lines)
