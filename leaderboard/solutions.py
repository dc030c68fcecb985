"""Versions of the solution, the built one and corrected ones in the ledger, and scoring by a new one."""

import csv
import hashlib
import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from leaderboard.events import checked_reason, now
from leaderboard.ledger import Entry, Ledger, opened
from submission.competition import Competition
from submission.errors import UnusableInput, unusable
from submission.files import csv_text, read_rows
from submission.ids import make_id, split_id
from submission.scoring import SCORER, score_parts
from submission.solution import (
    COUNTING,
    SolutionRow,
    counting_rows,
    parse_solution,
    read_images,
    solution_bytes,
    whole_solution,
)
from submission.tracks import TRACKS

MOST_NAMES = 10
"""Largest number of sets that a notice names."""
ROUNDING = 1e-6
"""Largest difference between a label and a fraction of the set's images, so that six decimals are enough."""


class Rescored(NamedTuple):
    """The result of :func:`rescore`."""

    submissions: int
    head: str  # of the ledger
    changed: Mapping[str, tuple[float, float]]  # fractions before and after by id, which are hidden labels


def newest_solution(competition: Competition) -> tuple[SolutionRow, ...]:
    """Returns all rows of the newest version of the solution, voided ones included (organizers only)."""
    with opened(competition) as ledger:
        return version(competition, ledger)


def counting_solution(competition: Competition) -> tuple[SolutionRow, ...]:
    """Returns the rows of the newest version that count for the metric that ranks."""
    return counting_rows(competition, newest_solution(competition))


def version(competition: Competition, ledger: Ledger, digest: str | None = None) -> tuple[SolutionRow, ...]:
    """Returns all rows of the version of the solution with this SHA-256, by default of the newest one."""
    digest = digest or ledger.solution()
    data = None if digest is None else ledger.file(digest)
    if data is not None:
        return parse_solution(data, f"version {digest} of the solution", competition.ids("test"))
    built = whole_solution(competition)
    if digest not in (None, hashlib.sha256(solution_bytes(built)).hexdigest()):
        raise UnusableInput(f"version {digest} of the solution is missing: restore it from a backup")
    return built


def predictions_of(competition: Competition, ledger: Ledger, entry: Entry) -> dict[str, float]:
    """Returns the predictions of a scored submission, {id: fraction}."""
    return dict(zip(competition.ids("test"), ledger.predictions(entry.digest).tolist(), strict=True))


def rescore(
    competition: Competition,
    labels: Mapping[str, float],
    voids: Collection[str],
    reason: str,
    clock: Callable[[], datetime] = now,
    images: Sequence[Path] = (),
) -> Rescored:
    """Correct labels {id: fraction} and those in files of `images`, void sets, and score all again."""
    with opened(competition, writing=True) as ledger:
        before = version(competition, ledger)
        kept = ledger.image_labels()
        table, accuracies = of_corrected_images(competition, images, kept) if images else (kept, {})
        labels = {**accuracies, **labels}
        rows = corrected(competition, before, labels, voids)
        if rows == before and table == kept:
            raise UnusableInput(
                "nothing would change: give an --images FILE, a --label ID=FRACTION or a --void SET that is "
                "not recorded yet"
            )
        counting = counting_rows(competition, rows)
        found = {
            entry.number: score_parts(predictions_of(competition, ledger, entry), counting)
            for entry in ledger.entries()
            if entry.status == "scored"
        }
        time = clock()
        solution = ledger.keep_file(solution_bytes(rows))
        ledger.append(
            time,
            "solution",
            scorer=SCORER,
            solution=solution,
            digest=ledger.keep_file(table) if table else None,
            what=_what({split_id(name)[1] for name in labels}, set(voids)),
            before=hashlib.sha256(solution_bytes(before)).hexdigest(),
            after=solution,
            note=checked_reason(reason),
        )
        for number, score in found.items():
            ledger.append(time, "score", entry=number, scorer=SCORER, solution=solution, **score)
        values = {row.id: (old.prediction, row.prediction) for old, row in zip(before, rows, strict=True)}
        changed = {name: pair for name, pair in values.items() if pair[0] != pair[1]}
        return Rescored(len(found), ledger.head, changed)


def of_corrected_images(
    competition: Competition, files: Sequence[Path], kept: bytes = b""
) -> tuple[bytes, dict[str, float]]:
    """Returns labels of images from CSVs (set, image from 0, class), added to the table of those kept before.

    The first is the new table, the second the accuracies {id: fraction} of the sets in the files.
    """
    if competition.track != "accuracy":
        raise UnusableInput("--images: only the accuracy track has a class for each image; use --label")
    known = read_images(competition)
    names = {each: place for place, each in enumerate(competition.classes)}
    names |= {str(place): place for place in range(len(names)) if str(place) not in names}
    labels = {(name, int(image)): label for name, image, label in csv.reader(io.StringIO(kept.decode()))}
    fresh = dict[str, None]()
    for file in files:
        for line, row in read_rows(file, ("set", "image", "class")):
            name, image, label = row["set"], row["image"], row["class"]
            if name not in competition.sets("test"):
                raise unusable(file, f"line {line}: there is no test set {name!r}")
            last = len(known[name]) - 1
            if not image.isdecimal() or int(image) > last:
                raise unusable(file, f"line {line}: {name} has images 0 to {last}, not {image!r}")
            if label not in names:
                raise unusable(file, f"line {line}: there is no class {label!r}")
            fresh[name] = None
            labels[name, int(image)] = label
    for (name, number), label in labels.items():
        known[name][number] = names[label]
    ids = (make_id(subject, name) for name in fresh for subject in competition.subjects)
    accuracies = {each: float((known[each] == known[split_id(each)[1]]).mean()) for each in ids}
    return csv_text((*key, label) for key, label in sorted(labels.items())).encode(), accuracies


def _what(corrected: Collection[str], voided: Collection[str]) -> str:
    """Returns what a new version of the solution changes, in words that teams read."""
    parts = []
    for verb, names in (("corrected", sorted(corrected)), ("voided", sorted(voided))):
        more = " and more" if len(names) > MOST_NAMES else ""
        parts += [f"{verb} {', '.join(names[:MOST_NAMES])}{more}"] if names else []
    return "; ".join(parts)


def corrected(
    competition: Competition, rows: Sequence[SolutionRow], labels: Mapping[str, float], voids: Collection[str]
) -> tuple[SolutionRow, ...]:
    """Returns the rows of a solution with other labels and without the voided sets."""
    if unknown := (labels.keys() - competition.ids("test")) | ({*voids} - {*competition.sets("test")}):
        raise UnusableInput(f"the test sets have no {min(unknown)}: --label takes an id, --void a set")
    for name, label in labels.items():
        size = competition.sizes["test"][split_id(name)[1]]
        fraction = label / 100 if 1 < label <= 100 else min(max(label, 0), 1)  # a percentage, perhaps
        near = fraction if TRACKS[competition.track].deviations else round(fraction * size) / size
        if abs(label - near) > ROUNDING:
            raise UnusableInput(
                f"--label {name}: {label:g} is not a fraction of the set's {size:,} images; did you mean "
                f"{near:.6g}?"
            )
    found = tuple(
        replace(
            row,
            prediction=float(labels.get(row.id, row.prediction)),
            usage="Ignored" if row.set in voids else row.usage,
        )
        for row in rows
    )
    if not set(COUNTING) <= {row.usage for row in found}:
        raise UnusableInput("--void: no public or no private set would be left to score on")
    return found
