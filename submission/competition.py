"""A competition on disk: the description of its folder, checked when it is opened.

The module is long because it has every field of the description together with its check.
"""

import json
import os
import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import TypeGuard

from submission.description import description_text, read_description
from submission.errors import UnusableInput, printable
from submission.files import read_text, sha256, write_text
from submission.ids import check_set_name, check_subject, make_id, split_id
from submission.seal import DESCRIPTION, SOLUTION, check_sealed, write_seal
from submission.tracks import TRACKS

PARTS = ("train", "val", "test")
ENGINES = ("torch", "openvino")
PRECISIONS = ("float32", "float16", "bfloat16")
MOST_IDS = 1_000_000
"""Largest number of ids of one part."""
LARGEST_TEXT = 1 << 30
"""Largest size in bytes of a text file below ``public/``."""
MOST_IMAGES = 1_000_000_000
"""Largest number of images of one set."""
FEEDBACKS = {
    "rounded": "the public score of every submission, rounded",
    "ladder": "a coarse score, if it beats the best baseline and the team's best by more than chance",
    "guarded": "as ladder, but no scores at all once more of them would reveal hidden labels",
}
"""The kinds of feedback on a submission, each with its meaning."""
VISIBILITIES = {
    "practice": "the test images are public and can be matched to their source: scores are for practice",
    "hidden": "the test images are unpublished: their labels cannot be looked up",
}


@dataclass(frozen=True)
class Competition:
    """A competition: what is predicted, on which sets, and the files that participants get.

    Attributes:
        root: Path of the folder; ``public/`` is for participants, ``private/`` for the organizer.
        name: Name, a line of text.
        track: Track, "accuracy" or "ood", a key of `TRACKS`.
        visibility: "practice" or "hidden", a key of `VISIBILITIES`.
        source: Name of the source of the images, a line of text.
        classes: Names of the classes, in the order of the labels.
        image_size: Height and width in pixels.
        subjects: Names of the classifiers that are evaluated; in the OOD track
            ``<classifier>:<detector>:<metric>``.
        sizes: Number of images by set for each of "train", "val" and "test", in the order of the sets.
        precision: Precision of the forward pass, "float32", "float16" or "bfloat16".
        seed: Public seed; the seed of the test sets is private.
        settings: Settings of the build that participants see, plain JSON.
        files: SHA-256 of every file below ``public/``, by relative path.
        decimals: Number of decimals of published scores.
        feedback: Kind of feedback on a submission, a key of `FEEDBACKS`.
        daily_limit: Number of submissions that a team may make per day (UTC); None for any number.
        total_limit: Number of submissions that a team may make in total; None for any number.
        deadline: Time in UTC after which submissions and changes of selections are refused; None for no
            deadline.
        engine: Library that computes the forward pass, "torch" or "openvino".

    Raises:
        ValueError: a field has the wrong type or value; the message names it.
    """

    root: Path
    name: str
    track: str
    visibility: str
    source: str
    classes: tuple[str, ...]
    image_size: tuple[int, int]
    subjects: tuple[str, ...]
    sizes: Mapping[str, Mapping[str, int]]
    precision: str
    seed: int
    settings: Mapping[str, object]
    files: Mapping[str, str]
    decimals: int = 2
    feedback: str = "rounded"
    daily_limit: int | None = None
    total_limit: int | None = None
    deadline: datetime | None = None
    engine: str = "torch"

    def __post_init__(self) -> None:
        for field in ("name", "source"):
            _require(_is_line(getattr(self, field)), field, "a line of text", getattr(self, field))
        _require(self.track in tuple(TRACKS), "track", f"one of {', '.join(TRACKS)}", self.track)
        choices = ", ".join(VISIBILITIES)
        _require(self.visibility in tuple(VISIBILITIES), "visibility", f"one of {choices}", self.visibility)
        _require(self.precision in PRECISIONS, "precision", f"one of {', '.join(PRECISIONS)}", self.precision)
        _require(self.engine in ENGINES, "engine", f"one of {', '.join(ENGINES)}", self.engine)
        _require(_is_count(self.seed, 0, 2**63 - 1), "seed", "a whole number, 0 to 2^63 - 1", self.seed)
        _require(_is_count(self.decimals, 0, 9), "decimals", "0 to 9", self.decimals)
        choices = ", ".join(FEEDBACKS)
        _require(self.feedback in tuple(FEEDBACKS), "feedback", f"one of {choices}", self.feedback)
        for field in ("daily_limit", "total_limit"):
            limit = getattr(self, field)
            _require(limit is None or _is_count(limit, 1, 1_000_000), field, "1 to 1,000,000, or none", limit)
        _require(_is_moment(self.deadline), "deadline", "a UTC time in whole seconds, or none", self.deadline)
        size = self.image_size
        fits = (
            isinstance(size, tuple) and len(size) == 2 and all(_is_count(side, 1, 1 << 20) for side in size)
        )
        _require(fits, "image_size", "(height, width), 1 to 2^20 pixels", size)
        _check_names("classes", self.classes, least=2)
        _check_names("subjects", self.subjects, least=1)
        for subject in self.subjects:
            TRACKS[self.track].split(check_subject(subject))
        _check_sizes(self.sizes, len(self.subjects))
        _check_settings(self.settings)
        _check_files(self.files)

    @classmethod
    def open(cls, root: Path | str) -> "Competition":
        """Returns the competition in the folder `root`.

        Raises:
            UnusableInput: the folder does not exist, is not a complete competition or has another format
                version, or its description is damaged; the message says which, and what to do.
        """
        root = Path(root)
        document = read_description(root)
        names = {field.name: field.default is MISSING for field in fields(cls) if field.name != "root"}
        try:
            for name in sorted(document.keys() - names):
                raise ValueError(f"field {reprlib.repr(name)} is unknown")
            for name in sorted(name for name, needed in names.items() if needed and name not in document):
                raise ValueError(f"field {name!r} is missing")
            if isinstance(document.get("deadline"), str):
                document["deadline"] = _moment(document["deadline"])
            for name in ("classes", "image_size", "subjects"):
                if isinstance(document[name], list):
                    document[name] = tuple(document[name])
            return cls(root=root, **document)
        except ValueError as error:
            raise UnusableInput(f"{root / DESCRIPTION} is damaged: {error}; unpack or restore it") from error

    def save(self) -> None:
        """Write ``public/competition.json``, atomically: the last step of a build.

        Fields, files and settings are sorted by name; the sets keep their order. If there is a solution,
        ``private/seal.sha256`` is written first; :func:`submission.solution.solution_of` refuses any other
        solution from then on.
        """
        document = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "root"}
        document["deadline"] = self.deadline and self.deadline.isoformat()
        document["files"] = dict(sorted(self.files.items()))
        document["settings"] = json.loads(json.dumps(self.settings, sort_keys=True))
        document["sizes"] = {part: dict(self.sizes[part]) for part in PARTS}
        text = description_text(document)
        if (self.root / SOLUTION).is_file():
            write_seal(self.root, text)
        write_text(self.root / DESCRIPTION, text)

    @property
    def public(self) -> Path:
        """The folder that participants get."""
        return self.root / "public"

    @property
    def private(self) -> Path:
        """The organizer's folder; a participant's copy has none."""
        return self.root / "private"

    def require_private(self) -> Path:
        """Returns the private folder, after checking that competition.json was not changed since the build.

        Raises:
            UnusableInput: this is a participant's copy, or competition.json was changed.
        """
        if os.path.lexists(self.private / "seal.sha256") and not (self.private / "solution.csv").exists():
            raise UnusableInput(f"{self.private / 'solution.csv'} is missing: restore it from a backup")
        if not os.access(self.private / "solution.csv", os.R_OK):
            raise UnusableInput(
                f"{self.root} has no private/solution.csv to read: only the organizer, who has the labels, "
                "can do this; on your own, score the validation sets (unseen score --val)"
            )
        check_sealed(self.root, DESCRIPTION)
        return self.private

    def check_output(self, out: Path, suffix: str) -> Path:
        """Returns `out`, after checking that a file made from the competition may be written there.

        Raises:
            UnusableInput: the path is inside ``public/`` or ``private/``, or does not end in `suffix`.
        """
        for folder in (self.public, self.private):
            if out.resolve().is_relative_to(folder.resolve()):
                raise UnusableInput(f"{out} is inside {folder}: choose a path outside it")
        if out.suffix.lower() != suffix:
            raise UnusableInput(f"{out}: the file's name must end in {suffix}")
        return out

    def sets(self, part: str) -> tuple[str, ...]:
        """Returns the names of the sets of `part` ("train", "val" or "test"), in order."""
        return tuple(self.sizes[part])

    def ids(self, part: str) -> tuple[str, ...]:
        """Returns the ids of `part`: all sets of the first subject, then all of the second, and so on."""
        return tuple(make_id(subject, name) for subject in self.subjects for name in self.sizes[part])

    def subject_of(self, name: str) -> str:
        """Returns the subject of an id."""
        return split_id(name)[0]

    def set_of(self, name: str) -> str:
        """Returns the set of an id."""
        return split_id(name)[1]

    def file(self, relative: str) -> Path:
        """Returns the path of a file below ``public/``, after checking that it is as the build wrote it.

        Raises:
            UnusableInput: the file is not part of the competition, is missing or was changed.
        """
        path = self.public / relative
        if relative not in self.files:
            raise UnusableInput(
                f"{path} is not part of the competition: public/competition.json does not list it"
            )
        if not path.is_file():
            raise UnusableInput(f"{path} is missing: unpack the competition again, or build it again")
        if sha256(path) != self.files[relative]:
            raise UnusableInput(
                f"{path} was changed or is damaged: unpack the competition again, or build it again"
            )
        return path

    def text(self, relative: str) -> str:
        """Returns the text of a file below ``public/``, after the check of `file`.

        Raises:
            UnusableInput: as :meth:`file`; or the file is not UTF-8.
        """
        return read_text(self.file(relative), LARGEST_TEXT)

    @property
    def computes(self) -> str:
        """The precision and, where it is not PyTorch, the engine: "float32 by openvino"."""
        return self.precision if self.engine == "torch" else f"{self.precision} by {self.engine}"

    @property
    def classifiers(self) -> tuple[str, ...]:
        """The names of the classifiers; every subject is one, or a detector and a metric on one."""
        track = TRACKS[self.track]
        return tuple(dict.fromkeys(track.split(subject)[0] for subject in self.subjects))

    @property
    def referees(self) -> tuple[str, ...]:
        """The names of the referees in order; ``public/referees/<name>.safetensors`` are their probes."""
        told = self.settings.get("referees")
        found = (
            [each.get("name") for each in told if isinstance(each, dict)] if isinstance(told, list) else []
        )
        return tuple(name for name in found if isinstance(name, str))

    @property
    def logits_alone(self) -> tuple[str, ...]:
        """The names of the classifiers that have no features, since no linear layer gives their logits."""
        told = self.settings.get("logits_alone")
        return tuple(name for name in told if isinstance(name, str)) if isinstance(told, list) else ()

    def quantity(self, subject: str) -> str:
        """Returns the title of the metric that is predicted of a subject, such as "accuracy" or "FPR@95"."""
        track = TRACKS[self.track]
        return track.metrics[track.metric(subject)]

    @property
    def labels(self) -> tuple[str, ...]:
        """The meanings of the labels 0, 1, ... of the images of "train" and "val" sets."""
        return TRACKS[self.track].labels or self.classes

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that are predicted; the first one ranks. Their scores are never pooled."""
        track = TRACKS[self.track]
        found = {track.metric(subject) for subject in self.subjects}
        return tuple(metric for metric in track.metrics if metric in found)

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the metrics, such as "accuracy" or "FPR@95"."""
        return tuple(TRACKS[self.track].metrics[metric] for metric in self.metrics)

    def by_metric(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Returns the ids among `names` of each metric; the metric that ranks comes first."""
        track = TRACKS[self.track]
        groups: dict[str, list[str]] = {metric: [] for metric in self.metrics}
        for name in names:
            groups[track.metric(self.subject_of(name))].append(name)
        return groups

    def describe(self) -> str:
        """Returns a readable summary of a few lines: track, source, classifiers, sets, visibility, rules."""
        height, width = self.image_size
        track = TRACKS[self.track]
        parts = zip(*(track.split(subject) for subject in self.subjects), strict=True)
        named = {
            f"{noun}s": ", ".join(dict.fromkeys(p)) for noun, p in zip(track.subject, parts, strict=True)
        }
        facts = {
            "track": f"{self.track}: predict {track.asks}, as a fraction",
            "source": f"{self.source}: {len(self.classes)} classes, {width} x {height} pixels",
            **named,
            "classifiers": f"{named['classifiers']} ({self.computes})",
            **({"logits alone": ", ".join(self.logits_alone)} if self.logits_alone else {}),
            **({"referees": ", ".join(self.referees)} if self.referees else {}),
            **{part: _summary(tuple(self.sizes[part].values())) for part in PARTS},
            self.visibility: VISIBILITIES[self.visibility],
            **self._rules(),
        }
        return "\n".join([self.name, *(f"  {name:<11}  {printable(fact)}" for name, fact in facts.items())])

    def _rules(self) -> dict[str, str]:
        """Returns the rules for submissions that differ from the default, by their heading."""
        limits = [
            f"{limit:,} {span}"
            for limit, span in ((self.daily_limit, "per day (UTC)"), (self.total_limit, "in total"))
            if limit is not None
        ]
        rules = {}
        if limits:
            rules["limits"] = f"submissions per team: {', '.join(limits)}"
        if self.deadline is not None:
            rules["deadline"] = f"{self.deadline:%Y-%m-%d %H:%M:%S} UTC"
        if self.feedback != "rounded":
            rules["feedback"] = FEEDBACKS[self.feedback]
        return rules


def check_opened(given: object) -> None:
    """Raise UnusableInput if what a user gives for a competition is none, such as the path of its folder."""
    if not isinstance(given, Competition):
        raise UnusableInput(f"{given!r} is no competition: unseen.open(folder) returns one")


def _require(fits: bool, field: str, expected: str, value: object) -> None:
    if not fits:
        raise ValueError(f"{field}: must be {expected}, got {reprlib.repr(value)}")


def _is_line(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable() and len(value) <= 200


def _is_count(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"deadline: {reprlib.repr(text)} is not a time") from None


def _is_moment(value: object) -> bool:
    if not isinstance(value, datetime):
        return value is None
    return value.utcoffset() == timedelta(0) and value.microsecond == 0


def _check_names(field: str, names: object, least: int) -> None:
    fits = isinstance(names, tuple) and len(names) >= least and all(_is_line(name) for name in names)
    _require(fits, field, f"a tuple of {least} or more names", names)
    assert isinstance(names, tuple)
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{field}: {name!r} is given twice")


def _check_sizes(sizes: object, subjects: int) -> None:
    if not isinstance(sizes, Mapping) or sorted(map(str, sizes)) != sorted(PARTS):
        raise ValueError(f"sizes: must hold {', '.join(PARTS)}")
    seen: set[str] = set()
    for part in PARTS:
        _require(isinstance(sizes[part], Mapping), "sizes", "{part: {set: number of images}}", sizes[part])
        if len(sizes[part]) * subjects > MOST_IDS:
            raise ValueError(f"sizes: more than {MOST_IDS:,} pairs of a subject and a {part} set")
        for name, images in sizes[part].items():
            check_set_name(name)
            fits = _is_count(images, 1, MOST_IMAGES)
            _require(fits, "sizes", f"1 to {MOST_IMAGES:,} images for set {name!r}", images)
            if name in seen:
                raise ValueError(f"sizes: two sets are named {name!r}")
            seen.add(name)
    if not sizes["train"]:
        raise ValueError("sizes: at least one train set is needed")
    if len(sizes["test"]) < 2:
        raise ValueError("sizes: at least two test sets are needed, for the public and the private score")


def _check_settings(settings: object) -> None:
    try:
        plain = (
            isinstance(settings, Mapping)
            and json.loads(json.dumps(settings, allow_nan=False, ensure_ascii=False).encode()) == settings
        )
    except (TypeError, ValueError, RecursionError):
        plain = False
    _require(plain, "settings", "plain JSON (no tuples, no NaN)", settings)


def _check_files(files: object) -> None:
    _require(isinstance(files, Mapping), "files", "{path below public/: SHA-256}", files)
    assert isinstance(files, Mapping)
    for name, digest in files.items():
        path = PurePosixPath(name if _is_line(name) else "")
        inside = path.parts and str(path) == name and not path.is_absolute() and ".." not in path.parts
        _require(bool(inside) and "\\" not in name, "files", "paths below public/", name)
        hexadecimal = (
            isinstance(digest, str) and len(digest) == 64 and not set(digest) - set("0123456789abcdef")
        )
        _require(hexadecimal, "files", f"64 hexadecimal digits for {name!r}", digest)


def _summary(sizes: Sequence[int]) -> str:
    """Returns how many sets there are, and of how many images.

    >>> _summary((500, 1000))
    '2 sets of 500 to 1,000 images'
    """
    if not sizes:
        return "no sets"
    least, most = min(sizes), max(sizes)
    images = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{len(sizes):,} set{'s' if len(sizes) > 1 else ''} of {images} images"
