"""The methods that `unseen predict` ran, of the kit and of its users."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.parser import parse
from submission.predictions import FOLDERS, predicted_files, read_bytes
from submission.scoretable import Methods

NOT_PREDICTED = (
    "there is no record that `unseen predict` wrote its present content; predict the method again to show "
    "it, or remove the file if it is a participant's"
)
Written = Mapping[str, Mapping[str, str]]
"""What `unseen predict` wrote: {path below the competition's folder: {SHA-256: kind}}."""


@dataclass(frozen=True)
class Shown:
    """The methods that may be shown on the sets of a part, with the names of those that are not the kit's."""

    predictions: Methods
    own: frozenset[str]
    warnings: tuple[str, ...]


def read_methods(competition: Competition, part: str = "test", written: Written | None = None) -> Shown:
    """Returns the methods for the test or validation sets, with a warning of each file that is left out."""
    record = predicted_files(competition.root) if written is None else written
    predictions: dict[str, Mapping[str, float]] = {}
    warnings: list[str] = []
    folder = competition.root / FOLDERS[part]
    for path in sorted(folder.glob("*.csv")) if competition.sets(part) else ():
        try:
            predictions[path.stem] = _read(competition, path, part, record)
        except InvalidSubmission as error:
            more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
            warnings.append(f"left out {path}: {error.problems[0]}{more}")
        except UnusableInput as error:
            warnings.append(f"left out {error}")
    own = frozenset(Path(path).stem for path, kinds in record.items() if "yours" in kinds.values())
    return Shown(predictions, own, tuple(warnings))


def _read(competition: Competition, path: Path, part: str, written: Written) -> dict[str, float]:
    """Returns the predictions in a file that `unseen predict` wrote."""
    if not path.name.isprintable():
        raise UnusableInput(f"{str(path)!r}: its name cannot be printed; rename it")
    place = Path(os.path.realpath(path))  # resolve() fails on a loop
    if place.is_relative_to(competition.private.resolve()):
        raise UnusableInput(f"{path}: it is a link into {competition.private}")
    ids = competition.ids(part)
    data = read_bytes(path, ids)
    predictions = parse(data, ids, str(path))
    known = written.get(f"{FOLDERS[part]}/{path.name}", {})
    if hashlib.sha256(data).hexdigest() not in known:
        raise UnusableInput(f"{path}: {NOT_PREDICTED}")
    return predictions
