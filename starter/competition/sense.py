"""Warnings about competitions with rankings by chance.

Each is one line with the measurement, the reason why it matters, and the remedy.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from starter.classifiers import read_classifier
from starter.competition.subjects import SETS
from starter.observing.cache import cache_of
from starter.observing.observe import Observer, observe_all
from submission import Competition, SolutionRow
from submission.errors import UnusableInput
from submission.files import read_text
from submission.intervals import FEWEST_FAMILIES
from submission.scoring import constant_error, noise_floor_of, read_targets, score_validation
from submission.solution import solution_of, whole_solution

SKILL = 0.2
"""Smallest (accuracy - chance) / (1 - chance) of a classifier that is not near chance."""
GAIN = 0.2
"""Smallest reduction of the squared error of `constant`, as a fraction, that shows the worth of a method."""
SPREAD = 2.0
"""Smallest standard deviation of the truths, as a multiple of their sampling noise."""
FEWEST_ROWS = 10
"""Fewest public rows for a meaningful public score; with fewer, no baseline is shown."""
VARIED = {"accuracy": "stronger or more varied shifts", "ood": "more varied OOD sets (--ood)"}
"""What makes the true values of a track's sets differ more."""
DIGIT = 0.01
"""Smallest useful step of published scores, as a fraction of a score's standard error."""


def doubts(competition: Competition, device: str = "cpu") -> Iterator[str]:
    """Yield a warning for each reason why a competition may not rank methods by their worth.

    Classifiers observe the labelled reference images; their observations are cached.

    Args:
        competition: Organizer's copy of the competition.
        device: Device that runs the classifiers.

    Raises:
        UnusableInput: this is a participant's copy, or a file of the competition is damaged or was changed.
    """
    yield from _near_chance(competition, device)
    yield from _narrow(competition)
    yield from _few(competition)
    yield from _one_source(competition)
    yield from _no_skill(competition)
    yield from _decimals(competition)


def _near_chance(competition: Competition, device: str) -> Iterator[str]:
    sets, chance = SETS[competition.track](competition), 1 / len(competition.classes)
    for file in sorted(file for file in competition.files if file.startswith("classifiers/")):
        name = file.removeprefix("classifiers/").removesuffix(".safetensors")
        classifier = read_classifier(
            competition.file(file), name, competition.precision, device, competition.engine
        )
        observer = Observer(classifier, cache_of(competition.root))
        (seen,) = observe_all([sets.find("source", "reference")], observer, (), progress=False)
        accuracy = float((seen.predicted == sets.reference.labels).mean())
        if accuracy < chance + SKILL * (1 - chance):
            yield (
                f"classifier {name} is right on {100 * accuracy:.0f} % of the labelled reference images, and "
                f"guessing would be on {100 * chance:.0f} %: shifts can hardly lower that, so there is "
                "little to predict; train it longer or on more images"
            )


def _narrow(competition: Competition) -> Iterator[str]:
    """Yield a warning about subjects whose true values vary little more than by sampling noise."""
    found = {}
    for subject, rows in _by_subject(whole_solution(competition)).items():
        targets = {row.id: row.prediction for row in rows}
        spread, noise = (
            100 * float(np.std(list(targets.values()))),
            noise_floor_of(competition, "test", targets),
        )
        if len(rows) > 1 and spread < SPREAD * noise:
            found[subject] = f"{subject} (they spread by {spread:.1f} points, noise is {noise:.1f})"
    if found:
        yield (
            f"the true values of the test sets hardly differ by more than their sampling noise for "
            f"{', '.join(found.values())}: ranks would follow the noise; build with larger sets (--set-size) "
            f"or {VARIED[competition.track]}, so that the spread is at least {SPREAD:g} times the noise"
        )


def _few(competition: Competition) -> Iterator[str]:
    rows = solution_of(competition)
    public = [row for row in rows if row.usage == "Public"]
    private = {row.set for row in rows if row.usage == "Private"}
    families = {str(test.get("family")) for test in _tests(competition, private)}
    if len(public) < FEWEST_ROWS:
        sets = len({row.set for row in rows})
        enough = math.ceil(sets * FEWEST_ROWS / max(len(public), 1))
        yield (
            f"{_counted(len(public), 'prediction counts', 'predictions count')} on the public board, fewer "
            f"than {FEWEST_ROWS}: its order is an accident, and no baseline is shown on it; build with more "
            f"test sets (about {enough} in place of {sets})"
        )
    if 0 < len(families) < FEWEST_FAMILIES:
        kinds = _counted(len(families), "family", "families")
        yield (
            f"the test sets that decide the final ranks are of {kinds} of shift, fewer than "
            f"{FEWEST_FAMILIES}: one shift decides alone, and scores have no interval; build with more test "
            "sets or other sources of shift"
        )


def _one_source(competition: Competition) -> Iterator[str]:
    tests = _tests(competition, set(competition.sets("test")))
    natural = [str(test.get("family")) for test in tests if str(test.get("group")).startswith("natural")]
    if len(natural) > 1 and len(set(natural)) == 1:
        yield (
            f"all {len(natural)} natural test sets come from one source, {natural[0]}: the ranks may hold "
            "for that source alone; add sets of another (--test-from)"
        )


def _no_skill(competition: Competition) -> Iterator[str]:
    """Yield a warning if the best method that was run is not clearly better than `constant`.

    It is clearly better if it is ahead by the sampling noise, or reduces the squared error by a fifth. The
    second criterion is for competitions with an error of `constant` below twice the noise: there even a
    perfect method, with an error equal to the noise, is not ahead by the noise.
    """
    if not competition.sets("val"):
        return
    scores = {}
    for path in sorted((competition.root / "validation").glob("*.csv")):
        try:
            scores[path.stem] = score_validation(competition, path).rmse
        except (UnusableInput, ValueError, OSError):  # the board tells of such files
            continue
    constant = scores.pop("constant", constant_error(competition))
    best = min(scores, key=lambda name: scores[name], default="")
    targets = read_targets(competition, "val")
    ranking = competition.by_metric(targets)[competition.metrics[0]]
    noise = noise_floor_of(competition, "val", {name: targets[name] for name in ranking})
    if best and constant - scores[best] < noise and 1 - (scores[best] / constant) ** 2 < GAIN:
        yield (
            f"on the validation sets the best method, {best} ({scores[best]:.1f} points), is not ahead of "
            f"`constant` ({constant:.1f}) by the sampling noise ({noise:.1f}): methods cannot show their "
            f"worth; build with {VARIED[competition.track]}, or larger sets (--set-size)"
        )


def _decimals(competition: Competition) -> Iterator[str]:
    """Yield a warning if every score is published with more digits than so few rows can determine."""
    rows = sum(row.usage == "Public" for row in solution_of(competition))
    if competition.feedback != "rounded" or not rows:
        return
    error = constant_error(competition) / math.sqrt(2 * rows)
    allowed = max(0, math.floor(-math.log10(DIGIT * error)))
    if competition.decimals > allowed:
        decimals = _counted(competition.decimals, "decimal", "decimals")
        yield (
            f"scores are published to {decimals}, and their standard error on "
            f"{_counted(rows, 'public prediction', 'public predictions')} is about {error:.1f} points: so "
            f"small a step ranks nobody and tells labels; build with --decimals {allowed}"
        )


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _by_subject(rows: Iterable[SolutionRow]) -> dict[str, list[SolutionRow]]:
    found: dict[str, list[SolutionRow]] = {}
    for row in rows:
        found.setdefault(row.subject, []).append(row)
    return found


def _tests(competition: Competition, names: set[str]) -> Sequence[dict[str, Any]]:
    """Returns the build's records of the test sets with these names; empty if the record is missing.

    Raises:
        UnusableInput: the record is damaged.
    """
    path = competition.private / "build.json"
    if not path.is_file():
        return []
    try:
        tests = json.loads(read_text(path)).get("test", ())
        return [test for test in tests if json.loads(test["recipe"])["name"] in names]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusableInput(f"{path} is damaged: restore it from a backup") from error
