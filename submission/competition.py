"""A competition on disk: ``public/competition.json`` as one model, checked when it is opened.

A build records the SHA-256 of its files: of those below ``public/`` in competition.json, of that file and the
private ones in ``private/build.json``. A changed file is refused. This guards against mistakes, not against
the organizer, who could write other hashes.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from typing_extensions import Self

from submission.errors import UnusableInput, printable
from submission.files import decoded, read_head, replacing, require_writable, sha256, writable, write_text
from submission.ids import SET, SUBJECT, make_id, split_id
from submission.tracks import TRACKS

VERSION: Final = 2
"""Version of the format of a competition's folder; a folder of any other version is refused."""
DESCRIPTION = "public/competition.json"
SOLUTION = "private/solution.csv"
DEVIATIONS = "private/noise.csv"
"""File with the standard deviation of each hidden target by chance alone, in tracks that measure it."""
RECORD = "private/build.json"
"""The organizer's record of a build: settings, test seed, hashes of the inputs, and test sets."""
PARTS = ("train", "val", "test")
Precision = Literal["float32", "float16", "bfloat16"]
Engine = Literal["torch", "openvino"]
ENGINES = get_args(Engine)
VISIBILITIES = {
    "practice": "the test images are public and can be matched to their source: scores are for practice",
    "hidden": "the test images are unpublished: their labels cannot be looked up",
}
LARGEST_DESCRIPTION = 8 << 20
"""Largest size of competition.json in bytes, enough for 50,000 sets with their files."""
LARGEST_TEXT = 1 << 30
"""Number of bytes that are read of a text file below ``public/``, which is larger than any."""


def _unique(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("a name is given twice")
    return names


FORMS = ("csv", "jsonl", "npz", "safetensors", "txt")
"""Forms of public files: a description that lists others, such as code, is refused.

All that opens a stranger's archive: `submission.pack.unpacked` the zip, `Competition.read` competition.json,
`Competition.data` texts, `submission.parser` targets, `Recipe` and `Mix.from_json` lines of .jsonl,
`read_npz` images, without pickles, and of .safetensors `read_classifier` classifiers, `Probe.load` referees,
`Referee` what they have seen and `TwoTowerEncoder.load` their encoders, or else `check_known` a name.
"""
_NAME = r"[A-Za-z0-9][^/\\\p{C}]*"
Line = Annotated[str, Field(pattern=r"^[^\p{C}\p{Zl}\p{Zp}]+$", max_length=200)]
Subject = Annotated[str, Field(pattern=f"^{SUBJECT}$")]
SetName = Annotated[str, Field(pattern=f"^{SET}$")]
PublicPath = Annotated[str, Field(pattern=rf"^{_NAME}(/{_NAME})*\.({'|'.join(FORMS)})$", max_length=400)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Side = Annotated[int, Field(ge=1, le=1 << 20)]
Limit = Annotated[int, Field(ge=1, le=1_000_000)]
LONGEST_TEXT = 500
"""Largest number of characters of a contact and of the reason of a change."""
FEW = 10
"""Smallest number of public sets from which a hidden competition gives scores before the end."""
LEAST_LIMIT = 3
"""Smallest default of the number of submissions of a team to a hidden competition."""
_TIME = re.compile(
    r"(?P<year>\d{4})-?(?P<month>\d\d)-?(?P<day>\d\d)"
    r"([T _](?P<hour>\d\d)(:?(?P<minute>\d\d)(:?(?P<second>\d\d(\.\d{3}|\.\d{6})?))?)?)?"
    r"\s*(?P<offset>Z|[+-]\d\d(:?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)
"""A time of ISO 8601, extended or basic; without an hour it is a date."""


def time_of(text: str, option: str = "") -> datetime:
    """Returns the time, in UTC, in an `option`'s text of ISO 8601; of a date 23:59, without offset UTC."""
    parts = _TIME.fullmatch(text.strip())
    if parts is None or text.strip().isdigit():
        raise UnusableInput(f"{option}a time as 2026-12-31T23:59 is expected, got {text!r}")
    clock = f"{parts['hour']}:{parts['minute'] or '00'}:{parts['second'] or '00'}"
    offset = (parts["offset"] or "Z").upper().replace("Z", "+00:00").replace(":", "")
    written = f"{parts['year']}-{parts['month']}-{parts['day']}T{clock if parts['hour'] else '23:59:00'}"
    try:
        found = datetime.fromisoformat(f"{written}{offset[:3]}:{offset[3:] or '00'}")
    except ValueError as error:
        raise UnusableInput(f"{option}{text!r} is no time: {error}") from error
    return found.astimezone(timezone.utc)


def future_of(option: str, time: str | datetime, now: datetime) -> datetime:
    """Returns the time of an option, a deadline; refuses one that has passed."""
    found = time if isinstance(time, datetime) else time_of(time, f"{option}: ")
    if found <= now:
        raise UnusableInput(f"{option} {found:%Y-%m-%d %H:%M} has passed: give a time in the future")
    return found


def usual_limit(public_sets: int) -> int:
    """Returns a team's usual limit in a hidden competition: it reveals little (`leaderboard.feedback`)."""
    return max(LEAST_LIMIT, public_sets // 5)


class Competition(BaseModel):
    """A competition: what is predicted, on which sets, and the files that participants get.

    Its fields are those of ``public/competition.json``, and `root`, the path of its folder: ``public/`` is
    for participants, ``private/`` for the organizer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: Literal[2] = VERSION
    root: Path = Field(Path(), exclude=True)
    name: Line
    track: Literal["accuracy", "ood"]
    visibility: Literal["practice", "hidden"] = Field(description="whether the test images are published")
    source: Line = Field(description="name of the source of the images")
    classes: Annotated[tuple[Line, ...], AfterValidator(_unique)] = Field(
        min_length=2, description="names of the classes, in the order of the labels"
    )
    image_size: tuple[Side, Side] = Field(description="height and width in pixels")
    subjects: Annotated[tuple[Subject, ...], AfterValidator(_unique)] = Field(
        min_length=1,
        description="names of the classifiers; in the OOD track <classifier>:<detector>:<metric>",
    )
    sizes: dict[str, dict[SetName, Annotated[int, Field(gt=0)]]] = Field(
        description="number of images by set for each part, in the order of the sets"
    )
    precision: Precision = Field(description="precision of the forward pass")
    engine: Engine = Field("torch", description="library that computes the forward pass")
    seed: int = Field(ge=0, lt=1 << 63, description="public seed; the seed of the test sets is private")
    settings: dict[str, Any] = Field(description="settings of the build that participants see")
    files: dict[PublicPath, Digest] = Field(description="SHA-256 of every file by its path below public/")
    decimals: int = Field(1, ge=0, le=2, description="number of decimals of published scores")
    silent: bool = Field(False, description="whether there are no scores before the end")
    daily_limit: Limit | None = Field(None, description="submissions of a team per day (UTC)")
    total_limit: Limit | None = Field(None, description="submissions of a team in total")
    free_invalid: bool = Field(False, description="whether a team has ten invalid files a day (UTC) free")
    deadline: AwareDatetime | None = Field(None, description="time after which submissions are refused")
    notices: tuple[str, ...] = Field((), description="what changed since the build, a sentence each")

    @model_validator(mode="after")
    def _check_names_and_sizes(self) -> Self:
        for subject in self.subjects:
            TRACKS[self.track].split(subject)
        if set(self.sizes) != set(PARTS) or not self.sizes["train"] or len(self.sizes["test"]) < 2:
            raise ValueError(
                "sizes: needs train, val and test, with at least one train set and two test sets"
            )
        _unique(tuple(name for part in PARTS for name in self.sizes[part]))
        return self

    @classmethod
    def open(cls, root: Path | str) -> Self:
        """Returns the competition in the folder `root`, which must be complete and of this version."""
        root = Path(root)
        path = root / DESCRIPTION
        if not path.is_file():
            half = (root / "public").is_dir() or (root / "private").is_dir()
            fix = "; run the same `unseen build` again to finish it" if half else _meant(root)
            state = f"it holds no {DESCRIPTION}" if root.is_dir() else "there is no such folder"
            if root.is_file():
                state, fix = "this is a file", "; the competition comes first"
            raise UnusableInput(f"{root} is not a competition: {state}{fix}")
        return cls.read(read_head(path, LARGEST_DESCRIPTION), path).model_copy(update={"root": root})

    @classmethod
    def read(cls, text: bytes, path: Path) -> Self:
        """Returns the competition that the text of a competition.json describes; messages name `path`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise UnusableInput(f"{path} {_problem(error)}") from error

    def save(self) -> None:
        """Write ``public/competition.json``, atomically: the last step of a build, and of a change.

        If there is a solution, the hashes that `sealed` compares are written to ``private/build.json`` first;
        those of earlier versions stay, so that a change may stop in between.
        """
        text = self.model_dump_json(indent=2) + "\n"
        record = self.root / RECORD
        if (self.root / SOLUTION).is_file():
            known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
            files = [file for file in (SOLUTION, DEVIATIONS) if (self.root / file).exists()]
            own = hashlib.sha256(text.encode()).hexdigest()
            before = known.get("sha256", {}).get(DESCRIPTION, [])
            known["sha256"] = {file: [sha256(self.root / file)] for file in files}
            known["sha256"][DESCRIPTION] = [*(each for each in before if each != own), own]
            with replacing(record, private=True) as temporary:
                temporary.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        write_text(self.root / DESCRIPTION, text)

    @property
    def public(self) -> Path:
        """The folder that participants get."""
        return self.root / "public"

    @property
    def out(self) -> Path:
        """The folder that predictions, reports and the cache go to: `root`, or another if it is read-only."""
        return writable(self.root)

    @property
    def private(self) -> Path:
        """The organizer's folder; a participant's copy has none."""
        return self.root / "private"

    def require_private(self) -> Path:
        """Returns the private folder, after checking that competition.json is as it was built."""
        if (self.private / "build.json").exists() and not (self.private / "solution.csv").exists():
            raise UnusableInput(f"{self.private / 'solution.csv'} is missing: restore it from a backup")
        if not os.access(self.private / "solution.csv", os.R_OK):
            raise UnusableInput(
                f"{self.root} has no private/solution.csv to read: only the organizer, who has the labels, "
                "can do this; on your own, score predictions in validation/ (unseen score --val)"
            )
        self.sealed(DESCRIPTION)
        return self.private

    def sealed(self, file: str) -> bytes:
        """Returns the bytes of `DESCRIPTION`, `SOLUTION` or `DEVIATIONS`, if the build wrote them so."""
        try:
            known = json.loads((self.root / RECORD).read_text(encoding="utf-8"))["sha256"][file]
        except (OSError, ValueError, LookupError, TypeError):
            known = []
        data = (self.root / file).read_bytes()
        if hashlib.sha256(data).hexdigest() not in known:
            raise UnusableInput(
                f"{self.root / file} is not the file that the build recorded in {RECORD}: restore it from a "
                f"backup, or remove {self.root / DESCRIPTION} and run the first `unseen build` again (to "
                "correct a label: unseen rescore)"
            )
        return data

    def check_output(self, out: Path, suffix: str) -> Path:
        """Returns `out`, outside ``public/`` and ``private/``, where it can be written, with the `suffix`."""
        for folder in (self.public, self.private):
            if out.resolve().is_relative_to(folder.resolve()):
                raise UnusableInput(f"{out} is inside {folder}: choose a path outside it")
        if out.suffix.lower() != suffix:
            raise UnusableInput(f"{out}: the file's name must end in {suffix}")
        require_writable(out.parent)
        return out

    def sets(self, part: str) -> tuple[str, ...]:
        """Returns the names of the sets of `part` ("train", "val" or "test"), in order."""
        return tuple(self.sizes[part])

    def ids(self, part: str) -> tuple[str, ...]:
        """Returns the ids of `part`: all sets of the first subject, then all of the second, and so on."""
        return tuple(make_id(subject, name) for subject in self.subjects for name in self.sizes[part])

    def file(self, relative: str) -> Path:
        """Returns the path of a file below ``public/``, after checking that it is as the build wrote it."""
        path = self.listed(relative)
        if not path.is_file() or sha256(path) != self.files[relative]:
            raise _changed(path)
        return path

    def data(self, relative: str) -> bytes:
        """Returns the bytes of a text file below ``public/``, read once, after the check of `file`."""
        path = self.listed(relative)
        data = read_head(path, LARGEST_TEXT) if path.is_file() else b""
        if hashlib.sha256(data).hexdigest() != self.files[relative]:
            raise _changed(path)
        return data

    def text(self, relative: str) -> str:
        r"""Returns the text of a file below ``public/``, with "\n" line ends, after the check of `file`."""
        return decoded(self.data(relative), self.public / relative)

    def listed(self, relative: str) -> Path:
        """Returns the path of a file below ``public/`` that the description lists, before its check."""
        path = self.public / relative
        if relative not in self.files:
            raise UnusableInput(
                f"{path} is not part of the competition: public/competition.json does not list it"
            )
        return path

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
        return tuple(each["name"] for each in self.settings.get("referees", ()))

    @property
    def networks(self) -> tuple[str, ...]:
        """The organizer's own code that classifiers run, each as module:function."""
        return tuple(self.settings.get("networks", ()))

    @property
    def logits_alone(self) -> tuple[str, ...]:
        """The names of the classifiers that have no features, since no linear layer gives their logits."""
        return tuple(self.settings.get("logits_alone", ()))

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
            groups[track.metric(split_id(name)[0])].append(name)
        return groups

    def rules(self) -> tuple[str, ...]:
        """Returns the rules, a sentence each: feedback, limits, deadline, metrics, visibility."""
        decimals = "1 decimal" if self.decimals == 1 else f"{self.decimals} decimals"
        answer = f"The answer to a submission is its public score, rounded to {decimals}."
        rules = ["There are no scores before the end." if self.silent else answer]
        for limit, span in ((self.daily_limit, "per day (UTC)"), (self.total_limit, "in total")):
            if limit is not None:
                rules.append(f"Each team may make {limit:,} submissions {span}.")
        free = "count only from the eleventh of a team on a day (UTC)" if self.free_invalid else "count too"
        rules.append(f"Invalid files {free}: `unseen validate` checks a file before.")
        end = self.deadline
        rules.append(f"The deadline is {end:%Y-%m-%d %H:%M:%S} UTC." if end else "There is no deadline.")
        if len(self.metrics) > 1:
            rules.append(f"{self.titles[0]} ranks; the other metrics are scored separately.")
        return (*rules, f"{self.visibility.capitalize()}: {VISIBILITIES[self.visibility]}.")

    def describe(self) -> str:
        """Returns a readable summary of a few lines: track, source, classifiers, sets, rules."""
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
            "own code": ", ".join(self.networks),
            "logits alone": ", ".join(self.logits_alone),
            "referees": ", ".join(self.referees),
            **{part: _summary(tuple(self.sizes[part].values())) for part in PARTS},
        }
        lines = [f"{name:<11}  {printable(fact)}" for name, fact in facts.items() if fact]
        lines += [f"{'' if number else 'rules':<11}  {rule}" for number, rule in enumerate(self.rules())]
        return "\n  ".join([self.name, *lines])


def _meant(root: Path) -> str:
    """Returns a question about the competition around `root`, or beside it with a similar name; or ""."""
    beside = {place.name: place for place in root.parent.glob("*") if (place / DESCRIPTION).is_file()}
    alike = [beside[name] for name in get_close_matches(root.name, beside, 1)]
    around = [root.parent] if (root.parent / DESCRIPTION).is_file() else []
    return "".join(f"; did you mean {place}?" for place in (around + alike)[:1])


def _changed(path: Path) -> UnusableInput:
    """Returns the error about a public file that is not as the build wrote it."""
    state = "was changed or is damaged" if path.is_file() else "is missing"
    return UnusableInput(f"{path} {state}: unpack the competition again, or build it again")


def _problem(error: ValidationError) -> str:
    """Returns the problem with its version, or the first one, on one line of at most 300 characters."""
    problems = error.errors(include_url=False)
    found = next((each for each in problems if each["loc"] == ("version",)), problems[0])
    field = ".".join(map(str, found["loc"]))
    form = found["input"]
    if field == "version" and type(form) is int and 1 <= form <= 99:
        release = "release 1.0.0" if form == 1 else "the newer release that built it"
        return f"is of format {form}, this kit reads {VERSION}: use {release} or build anew"
    return f"is damaged: {printable(f'{field}: ' + found['msg']):.300}; unpack or restore it"


def _summary(sizes: Sequence[int]) -> str:
    """Returns how many sets there are, and of how many images: "2 sets of 500 to 1,000 images"."""
    if not sizes:
        return "no sets"
    least, most = min(sizes), max(sizes)
    images = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{len(sizes):,} set{'s' if len(sizes) > 1 else ''} of {images} images"
