"""The settings of a build: every setting with its type, limits, default and help.

Settings are common ones and the plan of a track, accuracy or OOD. The options of `unseen build`
(`starter.build.flags`) and the settings file (`starter.build.file`) are made from these fields. Modules that
import torch are imported only inside the checks that need them, so that help texts load none of them.

The module is long because it declares all settings: adding one changes no other module.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, model_validator
from pydantic.fields import FieldInfo

from starter.build.declared import Declared, Flag, flag_of, problem_of
from submission import UnusableInput
from submission.competition import ENGINES, FEEDBACKS, PRECISIONS
from submission.tracks import TRACKS

if TYPE_CHECKING:
    from starter.build.mixes import Sizes
    from starter.images.reading import Fit
    from starter.sources.splits import Splits

LONGEST_LICENCE = 500
DAILY_LIMIT = 5
"""Default number of submissions per team and day with `rounded` feedback, as on Kaggle."""
NAMED_BASES = (4000, 1000, 3000)
"""Numbers of images in the bases of meta-train, validation and test sets, for a source with a name."""
Count = Field(ge=0, le=10_000)
Limit = Field(ge=0, le=1_000_000)


class AccuracyPlan(Declared):
    """The settings of the accuracy track alone."""

    track: ClassVar[str] = "accuracy"
    marked: ClassVar[dict[str, str]] = {}
    usual: ClassVar[dict[str, int]] = {}

    group: Annotated[
        str,
        Flag(
            "Operations of meta-train sets: default, a, b, corruptions, wide, natural-like; or several, "
            "joined by +.",
            often=True,
        ),
    ] = "default"
    ops_per_set: Annotated[
        tuple[int, ...],
        Flag(
            "Smallest and largest number of operations of a meta-train set.",
            default="3 3; wide, natural-like 0 3; demo 1 3",
            metavar="LOW HIGH",
        ),
    ] = ()
    recipes: Annotated[
        str,
        Flag("A file of recipes, one per line, instead of --train-sets, --group and --ops-per-set."),
    ] = ""
    val_from: Annotated[
        tuple[str, ...], Flag("A path of natural-shift sets to add to validation. Repeatable.", often=True)
    ] = ()
    datacv_splits: Annotated[bool, Flag("Make all sets from all test images, as DataCV does.")] = False
    referees: Annotated[
        tuple[str, ...],
        Flag(
            "A second opinion for methods, from an independent encoder: lite0, embedded, torchvision:NAME, "
            "timm:NAME, clip:MODEL[=WEIGHTS], module:function or a file. Repeatable.",
            metavar="SPEC",
            name="referee",
        ),
    ] = ()

    @model_validator(mode="after")
    def _check(self) -> "AccuracyPlan":
        from starter.operations import GROUPS, groups_of, policy_of

        try:
            groups = groups_of(self.group)
        except UnusableInput as error:
            known = ", ".join(GROUPS)
            raise UnusableInput(f"--group {self.group!r} is unknown; there are {known}") from error
        usual = {policy_of(group).ops_per_set for group in groups}
        if not self.ops_per_set:
            if len(usual) > 1:
                return self
            object.__setattr__(self, "ops_per_set", usual.pop())
        most = min(len(GROUPS[group]) for group in groups)
        if len(self.ops_per_set) != 2 or not 0 <= self.ops_per_set[0] <= self.ops_per_set[1] <= most:
            got = " ".join(map(str, self.ops_per_set))
            raise UnusableInput(f"--ops-per-set must be LOW HIGH with 0 <= LOW <= HIGH <= {most}, got {got}")
        return self

    def check(self, settings: "Settings") -> None:
        """Raise UnusableInput if the plan and the common settings contradict each other."""
        if settings.test_sets == 0 and not settings.test_from:
            raise UnusableInput("a competition needs test sets: --test-sets above 0, or --test-from PATH")
        if settings.test_sets == 1 and not settings.test_from:
            raise UnusableInput(TWO_SETS)
        if settings.hidden and (settings.test_sets or not settings.test_from):
            raise UnusableInput("--hidden needs test images of your own: --test-sets 0 and --test-from PATH")
        if settings.grid and self.val_from:
            raise UnusableInput("--grid makes the validation and test sets: leave --val-from out")
        for val in self.val_from:
            for test in settings.test_from:
                if _overlap(val, test):
                    raise UnusableInput(
                        f"--val-from {val} and --test-from {test} share images, and validation images are "
                        "public with their labels: name other sets"
                    )

    def check_files(self) -> None:
        """Do nothing: in this track files are checked when they are read."""

    def divided(self, splits: "Splits") -> "Splits":
        """Returns the source's splits from which sets are made, with --datacv-splits as in DataCV."""
        return splits.as_in_datacv() if self.datacv_splits else splits

    @property
    def named_bases(self) -> tuple[int, int, int]:
        """Numbers of base images of meta-train, validation and test sets, for a source with a name."""
        return (10_000,) * 3 if self.datacv_splits else NAMED_BASES

    def subjects(self, classifiers: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the names of the subjects, which are the classifiers."""
        return classifiers

    @property
    def public_paths(self) -> tuple[str, ...]:
        """Paths, in addition to the source, whose images participants get with labels."""
        return self.val_from

    def public(self, settings: "Settings") -> dict[str, object]:
        """Returns the settings that participants see: none about the test sets, and no paths."""
        drawn: dict[str, object] = {
            "train_sets": settings.train_sets,
            "group": self.group,
            "ops_per_set": list(self.ops_per_set),
        }
        shown: dict[str, object] = {"set_size": settings.set_size, "datacv_splits": self.datacv_splits}
        return shown if self.recipes else drawn | shown

    def largest(self, set_size: int) -> int:
        """Returns the number of images of the largest set."""
        return set_size


class OodPlan(Declared):
    """The settings of the OOD track alone."""

    track: ClassVar[str] = "ood"
    marked: ClassVar[dict[str, str]] = {"track": "ood"}
    usual: ClassVar[dict[str, int]] = {"test_sets": 40, "set_size": 125}
    """Defaults of common settings that differ in this track, since no image may be in two test mixes."""

    ood: Annotated[
        str,
        Flag("A folder or zip with a folder for each OOD data set.", default="embedded ones", often=True),
    ] = ""
    classes: Annotated[
        str, Flag("A class manifest, whose near and far classes become the OOD sets.", metavar="MANIFEST")
    ] = ""
    images: Annotated[
        str,
        Flag("The folder of the manifest's images: ROOT/SOURCE or ROOT/SOURCE.zip.", metavar="ROOT"),
    ] = ""
    id_up_to: Annotated[
        str,
        Flag(
            "Count a manifest's classes of oodness 0-1 (T1) or 0-2 (T2) as ID.",
            default="as assigned",
            metavar="T1|T2",
        ),
    ] = ""
    classes_per_set: Annotated[
        int,
        Field(ge=1, le=999_999),
        Flag("Make each OOD set of N related classes of the manifest.", metavar="N"),
    ] = 1
    exclude: Annotated[tuple[str, ...], Flag("An OOD set to leave out. Repeatable.")] = ()
    detectors: Annotated[
        tuple[str, ...], Flag("An OOD detector, such as msp. Repeatable.", name="detector", often=True)
    ] = ("msp", "odin", "energy", "mls")
    metrics: Annotated[
        tuple[str, ...],
        Flag("fpr95, auroc, fpr80, ...; the first one ranks. Repeatable.", name="metric"),
    ] = ("fpr95", "auroc")
    ratio: Annotated[
        str, Flag("IND:OOD, such as 1:1; hidden (the IND share is drawn from 0.2 to 0.8); or any.")
    ] = "hidden"
    sizes: Annotated[
        tuple[int, ...],
        Flag(
            "Smallest and largest number of images of a mix; with the ratio any, of each kind.",
            default="set_size",
            metavar="LOW HIGH",
        ),
    ] = ()
    fpr: Annotated[
        str,
        Flag("Images that set FPR's threshold: all IND images (pool), or those of the mix (mix)."),
    ] = "pool"
    test_ind: Annotated[
        str, Flag("A folder or zip of IND images for the test mixes only.", default="the source's")
    ] = ""

    @model_validator(mode="after")
    def _check(self) -> "OodPlan":
        from starter.detectors import DETECTORS
        from starter.sets.mix import MIX, POOL

        for option, chosen, known in (
            ("detector", self.detectors, tuple(DETECTORS)),
            ("metric", self.metrics, tuple(TRACKS["ood"].metrics)),
        ):
            if not chosen:
                raise UnusableInput(f"a competition of the OOD track needs at least one --{option}")
            for name in chosen:
                if name not in known:
                    raise UnusableInput(f"--{option} {name!r} is unknown; there are {', '.join(known)}")
                if chosen.count(name) > 1:
                    raise UnusableInput(f"--{option} {name} is given twice")
        self._check_classes()
        if self.fpr not in (POOL, MIX):
            raise UnusableInput(f"--fpr must be {POOL} or {MIX}, got {self.fpr!r}")
        return self

    def _check_classes(self) -> None:
        from starter.meaning.oodsets import check_reading

        check_reading(self.id_up_to)
        if self.classes and self.ood:
            raise UnusableInput("--classes gives the OOD sets: leave --ood out")
        if self.classes and not self.images:
            raise UnusableInput("--classes needs --images ROOT, where the class folders of its sources are")
        own = {"images": self.images, "id-up-to": self.id_up_to, "classes-per-set": self.classes_per_set > 1}
        for option, value in own.items():
            if value and not self.classes:
                raise UnusableInput(f"--{option} belongs to --classes MANIFEST, which is missing")

    def check(self, settings: "Settings") -> None:
        """Raise UnusableInput if the plan and the common settings contradict each other."""
        if settings.test_sets < 2:
            raise UnusableInput(TWO_SETS)
        if len(settings.test_from) > 1:
            raise UnusableInput("--test-from: name one folder or zip, of one folder per OOD data set")
        if self.test_ind and not settings.test_from:
            raise UnusableInput("--test-ind belongs to --test-from PATH, the OOD sets of the test")
        if settings.hidden and not (settings.test_from and self.test_ind):
            raise UnusableInput(
                "--hidden needs test images of your own: --test-from PATH for OOD sets and --test-ind PATH "
                "for IND images"
            )
        self.mix_sizes(settings.set_size)

    def check_files(self) -> None:
        """Raise UnusableInput, before images are read, for a bad manifest or a class without images."""
        if self.classes:
            from starter.meaning.oodsets import count_class_images

            reading = self.id_up_to, self.classes_per_set
            count_class_images(self.classes, self.images, *reading, self.exclude)

    def divided(self, splits: "Splits") -> "Splits":
        """Returns the source's splits unchanged."""
        return splits

    @property
    def named_bases(self) -> tuple[int, int, int]:
        """Numbers of base images of meta-train, validation and test mixes, for a source with a name."""
        return NAMED_BASES

    def mix_sizes(self, set_size: int) -> "Sizes":
        """Returns the sizes and the ratio of the mixes."""
        from starter.build.mixes import Sizes

        low, high = self.sizes or (set_size, set_size)
        return Sizes(low, high, self.ratio)

    def subjects(self, classifiers: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the names of the subjects: every metric of every detector on every classifier."""
        return tuple(
            f"{classifier}:{detector}:{metric}"
            for classifier in classifiers
            for detector in self.detectors
            for metric in self.metrics
        )

    @property
    def public_paths(self) -> tuple[str, ...]:
        """Paths, in addition to the source, whose images participants get."""
        return tuple(path for path in (self.ood, self.images) if path)

    def public(self, settings: "Settings") -> dict[str, object]:
        """Returns the settings that participants see."""
        sizes = list(self.sizes or (settings.set_size, settings.set_size))
        return {"train_sets": settings.train_sets, "sizes": sizes, "ratio": self.ratio, "fpr": self.fpr}

    def largest(self, set_size: int) -> int:
        """Returns the number of images of the largest mix."""
        return self.mix_sizes(set_size).high


RECORDED = (
    *("track", "source", "classifiers", "train_sets", "val_sets", "test_sets", "set_size", "group"),
    *("ops_per_set", "recipes", "val_from", "test_from", "grid", "laid", "seed", "precision", "hidden"),
    *("datacv_splits", "licence", "feedback", "decimals", "daily_limit", "total_limit", "deadline"),
)
"""The first settings of a record, in order; all others follow them."""
PLANS: dict[str, type[AccuracyPlan] | type[OodPlan]] = {"accuracy": AccuracyPlan, "ood": OodPlan}
"""The settings of each track alone."""
TWO_SETS = "--test-sets must be at least 2: one for the public score, one for the private"


class Settings(Declared):
    """The settings of `unseen build`, all plain JSON values, so that a competition's folder can keep them."""

    source: Annotated[str, Flag("glyphs, cifar10, or a path: class folders, zip or npz.", often=True)] = (
        "glyphs"
    )
    classifiers: Annotated[
        tuple[str, ...],
        Flag(
            "NAME=WEIGHTS (a file, official, module:function), timm:NET or torchvision:NET. Repeatable.",
            name="classifier",
            often=True,
        ),
    ] = ("small",)
    train_sets: Annotated[int, Field(ge=2, le=100_000), Flag("Number of meta-train sets.", often=True)] = 120
    val_sets: Annotated[int, Count, Flag("Number of labelled validation sets to make.", often=True)] = 24
    test_sets: Annotated[
        int,
        Count,
        Flag("Number of hidden test sets to make.", default="48; mixes 40, or as many as fit", often=True),
    ] = 48
    set_size: Annotated[
        int,
        Field(ge=2, le=1_000_000),
        Flag("Number of images in a set.", default="500; mixes 125, or as many as fit", often=True),
    ] = 500
    test_from: Annotated[
        tuple[str, ...],
        Flag(
            "A path of natural-shift sets to add to the test (repeatable); OOD track: a folder of OOD sets.",
            often=True,
        ),
    ] = ()
    grid: Annotated[
        str,
        Flag("Make the validation and test sets from the cells of a grid of shifts.", metavar="ENCODER"),
    ] = ""
    laid: Annotated[
        str,
        Flag("The folder that `unseen shift laid` wrote, for --grid.", default="trained here", metavar="DIR"),
    ] = ""
    image_size: Annotated[
        int,
        Field(ge=0, le=4096),
        Flag(
            "Height and width in pixels to which images at paths are resized.",
            default="the most common size of the source",
        ),
    ] = 0
    resize: Annotated[
        str,
        Flag("How to resize images: crop (the middle), pad (black borders), stretch (changes proportions)."),
    ] = "crop"
    skip_unreadable: Annotated[
        float,
        Field(ge=0, lt=1),
        Flag("Largest share of unreadable files in a set; these files are left out."),
    ] = 0.01
    seed: Annotated[int, Field(ge=0, le=2**63 - 1), Flag("Seed of the public part.")] = 0
    engine: Annotated[
        str,
        Flag(
            "What runs classifiers: openvino (on CPUs), or torch.",
            default="torch",
        ),
    ] = ""
    precision: Annotated[
        str,
        Flag(
            "float32, float16 (of openvino), or bfloat16 (moves indicators).",
            default="float16 where openvino can on this CPU, else float32",
        ),
    ] = ""
    hidden: Annotated[bool, Flag("Declare that the test images are published nowhere.")] = False
    licence: Annotated[
        str,
        Flag("Licence of the images at paths, for participants.", default="not stated", metavar="TEXT"),
    ] = ""
    contact: Annotated[
        str, Flag("Contact for participants, shown in the archive's README.", metavar="TEXT")
    ] = ""
    feedback: Annotated[
        str,
        Flag(
            "Scores that a team gets: rounded (every public score), ladder (only improvements), or guarded "
            "(only until they could reveal labels).",
            default="rounded; with --hidden guarded",
        ),
    ] = ""
    decimals: Annotated[int, Field(ge=0, le=9), Flag("Number of decimals of published scores.")] = 1
    daily_limit: Annotated[
        int | None,
        Limit,
        Flag(
            "Submissions per team and day (UTC); 0 for any number.",
            default="5 with rounded feedback, else 0",
        ),
    ] = None
    total_limit: Annotated[int, Limit, Flag("Submissions per team in total; 0 for any number.")] = 0
    deadline: Annotated[
        str, Flag("End, as 2026-12-31T23:59 (UTC, or with an offset).", default="none", metavar="TIME")
    ] = ""
    plan: AccuracyPlan | OodPlan = Field(default_factory=AccuracyPlan)

    @model_validator(mode="after")
    def _check(self) -> "Settings":
        from starter.images.reading import RESIZES

        if not self.source.isprintable() or not self.source.strip():
            raise UnusableInput(
                f"--source {self.source!r}: a name or a path of printable characters is needed"
            )
        if not self.contact.isprintable() or len(self.contact) > LONGEST_LICENCE:
            raise UnusableInput(f"--contact must be a line of at most {LONGEST_LICENCE} printable characters")
        if not self.licence.isprintable() or len(self.licence) > LONGEST_LICENCE:
            raise UnusableInput(
                f"--licence must be a line of at most {LONGEST_LICENCE} printable characters, as 'CC BY 4.0'"
            )
        self._check_classifiers()
        self.plan.check(self)
        if self.engine not in ("", *ENGINES):
            raise UnusableInput(f"--engine must be {' or '.join(ENGINES)}, got {self.engine!r}")
        if self.precision not in ("", *PRECISIONS):
            raise UnusableInput(f"--precision must be one of {', '.join(PRECISIONS)}, got {self.precision!r}")
        if self.resize not in RESIZES:
            raise UnusableInput(f"--resize must be {', '.join(RESIZES)}, got {self.resize!r}")
        if self.grid and self.test_from:
            raise UnusableInput("--grid makes the validation and test sets: leave --test-from out")
        if self.laid and not self.grid:
            raise UnusableInput("--laid belongs to --grid ENCODER, which is missing")
        self._set_rules()
        if self.feedback not in FEEDBACKS:
            raise UnusableInput(f"--feedback must be {' or '.join(FEEDBACKS)}, got {self.feedback!r}")
        _moment(self.deadline)
        return self

    def _set_rules(self) -> None:
        """Set the defaults of the feedback, from --hidden, and of the daily limit, from the feedback."""
        if not self.feedback:
            object.__setattr__(self, "feedback", "guarded" if self.hidden else "rounded")
        if self.daily_limit is None:
            object.__setattr__(self, "daily_limit", DAILY_LIMIT if self.feedback == "rounded" else 0)

    def _check_classifiers(self) -> None:
        if not self.classifiers:
            raise UnusableInput("a competition needs at least one --classifier")
        names = [name.casefold() for name in self.classifier_names]
        for name in self.classifier_names:
            if names.count(name.casefold()) > 1:
                raise UnusableInput(
                    f"--classifier {name} is given twice; give each a name of its own (not only in case)"
                )

    def settled(self, device: str = "cpu", begun: "Settings | None" = None) -> "Settings":
        """Returns the settings with an engine and a precision: those asked for, else as begun, else as usual.

        Raises:
            UnusableInput: the engine is to compute in a precision that it has not.
        """
        from starter.classifiers.engine import chosen

        engine = self.engine or (begun.engine if begun else "")
        precision = self.precision or (begun.precision if begun else "")
        engine, precision = chosen(engine, precision, device)
        return self.model_copy(update={"engine": engine, "precision": precision})

    def fit(self, size: tuple[int, int] | None = None) -> "Fit":
        """Returns the way in which images at paths get one size.

        Args:
            size: Height and width in pixels; None for --image-size, or else the most common size.
        """
        from starter.images.reading import Fit

        asked = (self.image_size, self.image_size) if self.image_size else None
        return Fit(size or asked, self.resize, self.skip_unreadable)

    def at_default(self, name: str) -> bool:
        """Returns True if a common setting has the track's default value."""
        return bool(getattr(self, name) == usual(self.plan.track)[name])

    def check_deadline(self, now: datetime) -> None:
        """Raise UnusableInput if the deadline has passed, so that nothing could be submitted."""
        deadline = _moment(self.deadline)
        if deadline is not None and deadline <= now:
            raise UnusableInput(f"--deadline {self.deadline} has passed: give a time in the future")

    @property
    def classifier_names(self) -> tuple[str, ...]:
        """The names of the classifiers."""
        from starter.classifiers import classifier_name

        return tuple(map(classifier_name, self.classifiers))

    @property
    def subjects(self) -> tuple[str, ...]:
        """The names of the subjects."""
        return self.plan.subjects(self.classifier_names)

    def rules(self) -> dict[str, Any]:
        """Returns the fields of a `Competition` with the rules for submissions."""
        return {
            "feedback": self.feedback,
            "decimals": self.decimals,
            "deadline": _moment(self.deadline),
            "daily_limit": self.daily_limit or None,
            "total_limit": self.total_limit or None,
        }

    def public(self) -> dict[str, object]:
        """Returns the settings that participants see: the plan's, the contact, and the encoder of a grid."""
        cells: dict[str, object] = {"grid": Path(self.grid).name} if self.grid else {}
        asked: dict[str, object] = {"contact": self.contact} if self.contact else {}
        return asked | cells | self.plan.public(self)

    def values(self) -> dict[str, Any]:
        """Returns the value of every setting by its name, those of the plan included."""
        return {name: getattr(self, name) for name in own_fields(Settings)} | dict(self.plan)

    def record(self) -> dict[str, Any]:
        """Returns plain JSON values from which `read_settings` makes the same settings.

        The record of the OOD track names the accuracy track's settings too, at their defaults, as the first
        release wrote it.
        """
        unused = {name: field.default for name, field in AccuracyPlan.model_fields.items()}
        values = self.plan.marked | unused | self.values()
        later = [name for name in values if name not in RECORDED]
        return json.loads(json.dumps({name: values[name] for name in (*RECORDED, *later) if name in values}))

    def differences(self, other: "Settings") -> list[str]:
        """Returns a readable line for each setting whose value differs."""
        if self.plan.track != other.plan.track:
            return [f"--track: {self.plan.track} here, {other.plan.track} asked for"]
        mine, theirs, known = self.values(), other.values(), every_field()
        return [
            f"{flag_of(name, known[name])}: {mine[name]} here, {theirs[name]} asked for"
            for name in mine
            if mine[name] != theirs[name]
        ]


def own_fields(model: type[Declared]) -> dict[str, FieldInfo]:
    """Returns the settings that a model declares, by name, without the plan."""
    return {name: field for name, field in model.model_fields.items() if name != "plan"}


def usual(track: str) -> dict[str, Any]:
    """Returns the defaults of the common settings in a track."""
    return {name: field.default for name, field in own_fields(Settings).items()} | PLANS[track].usual


def fields_of(track: str) -> dict[str, FieldInfo]:
    """Returns every setting of a track by its name.

    Raises:
        UnusableInput: there is no such track.
    """
    if track not in PLANS:
        raise UnusableInput(f"--track {track!r} is unknown; there are {', '.join(PLANS)}")
    return own_fields(Settings) | own_fields(PLANS[track])


def every_field() -> dict[str, FieldInfo]:
    """Returns every setting of either track by its name."""
    return {name: field for track in PLANS for name, field in fields_of(track).items()}


def settings_of(track: str, chosen: Mapping[str, object]) -> Settings:
    """Returns the settings of a track: the values in `chosen`, and defaults for all others.

    Raises:
        UnusableInput: the track is unknown, or a setting belongs to the other track or has a value that
            cannot be used.
    """
    known = fields_of(track)
    for name in chosen:
        if name not in known:
            other = next((each for each in PLANS if name in fields_of(each)), "")
            if not other:
                raise UnusableInput(f"there is no setting {name!r}")
            raise UnusableInput(
                f"{flag_of(name, fields_of(other)[name])} is for the {other} track, and this competition is "
                f"of the {track} track: leave it out"
            )
    plan, common = PLANS[track], own_fields(Settings)
    own: dict[str, Any] = {name: value for name, value in chosen.items() if name not in common}
    shared: dict[str, Any] = {name: value for name, value in chosen.items() if name in common}
    return Settings(**{**plan.usual, **shared}, plan=plan(**own))


def read_settings(document: Mapping[str, Any]) -> Settings:
    """Returns the settings that `Settings.record` wrote, for either track.

    Raises:
        UnusableInput: a setting is unknown to this version, has another type or cannot be used.
    """
    track = str(document.get("track", "accuracy"))
    known = fields_of(track)
    unused = own_fields(AccuracyPlan).keys() - known
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in document.items() if k != "track"}
    for name, value in values.items():
        if name not in unused and (name not in known or problem_of(known[name], value)):
            raise UnusableInput(f"this version has no setting {name!r} with the value {value!r}")
    return settings_of(track, {name: value for name, value in values.items() if name in known})


def _moment(text: str) -> datetime | None:
    """Returns a deadline in UTC; None for "".

    >>> _moment("2026-12-31T12:00+01:00").isoformat()
    '2026-12-31T11:00:00+00:00'

    Raises:
        UnusableInput: the text is not a date with a time.
    """
    if not text:
        return None
    try:
        found = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", text))
        if ":" not in text or found.microsecond:
            raise ValueError("no time of day in whole seconds")
        return found.replace(tzinfo=found.tzinfo or timezone.utc).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise UnusableInput(
            f"--deadline must be a date with a time, such as 2026-12-31T23:59 (UTC), got {text!r}"
        ) from None


def _overlap(one: str, other: str) -> bool:
    """Returns True if the paths are the same, or one is inside the other."""
    first, second = Path(one).resolve(), Path(other).resolve()
    return first.is_relative_to(second) or second.is_relative_to(first)
