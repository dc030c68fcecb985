"""The settings of a build: every setting with its type, limits, default and help, declared here alone.

Common settings, and a plan of the accuracy track or of the OOD track. The options of `unseen build`
(`starter.build.flags`) and the settings file (`starter.build.file`) are made from these fields. What only
modules with torch know is imported where it is checked, so that a help text loads none of them.

The module is long because adding a setting is to touch this one alone.
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
from submission.competition import FEEDBACKS
from submission.tracks import TRACKS

if TYPE_CHECKING:
    from starter.build.mixes import Sizes
    from starter.images.reading import Fit
    from starter.sources.splits import Splits

LONGEST_LICENCE = 500
DAILY_LIMIT = 5
"""Submissions a day where every score is told, as on Kaggle."""
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
            "Operations of meta-train sets: default, a, b, corruptions, wide, natural-like; joined by +.",
            often=True,
        ),
    ] = "default"
    ops_per_set: Annotated[
        tuple[int, ...],
        Flag(
            "Operations a meta-train set gets.",
            default="3 3; wide, natural-like 0 3; demo 1 3",
            metavar="LOW HIGH",
        ),
    ] = ()
    recipes: Annotated[str, Flag("A file of your own meta-train recipes, a line of JSON each.")] = ""
    val_from: Annotated[
        tuple[str, ...], Flag("Natural-shift sets to add to validation: a path; may be repeated.", often=True)
    ] = ()
    datacv_splits: Annotated[bool, Flag("Make all sets from all test images, as DataCV does.")] = False
    referees: Annotated[
        tuple[str, ...],
        Flag(
            "An independent encoder that methods may ask: lite0, embedded, torchvision:NAME, timm:NAME, "
            "clip:MODEL[=WEIGHTS], module:function or a file. May be repeated.",
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
        """Raise UnusableInput where the plan and the common settings do not go together."""
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
                        f"--val-from {val} and --test-from {test} share images, and those of validation sets "
                        "are public with their accuracy: name other sets"
                    )

    def check_files(self) -> None:
        """Check nothing: files are checked as they are read."""

    def divided(self, splits: "Splits") -> "Splits":
        """Returns the source's splits as the sets are made from them."""
        return splits.as_in_datacv() if self.datacv_splits else splits

    @property
    def named_base(self) -> int:
        """Images of each base, of a source that has a name."""
        return 10_000 if self.datacv_splits else 4000

    def subjects(self, classifiers: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the names of what is under evaluation: the classifiers."""
        return classifiers

    @property
    def public_paths(self) -> tuple[str, ...]:
        """The paths, besides the source, whose images participants get with their labels."""
        return self.val_from

    def public(self, settings: "Settings") -> dict[str, object]:
        """Returns the settings that participants see.

        Nothing of the test sets, no paths of the organizer's.
        """
        drawn: dict[str, object] = {
            "train_sets": settings.train_sets,
            "group": self.group,
            "ops_per_set": list(self.ops_per_set),
        }
        shown: dict[str, object] = {"set_size": settings.set_size, "datacv_splits": self.datacv_splits}
        return shown if self.recipes else drawn | shown

    def largest(self, set_size: int) -> int:
        """Returns images of the largest set."""
        return set_size


class OodPlan(Declared):
    """The settings of the OOD track alone."""

    track: ClassVar[str] = "ood"
    marked: ClassVar[dict[str, str]] = {"track": "ood"}
    usual: ClassVar[dict[str, int]] = {"test_sets": 40, "set_size": 125}
    """Defaults of common settings that are others here: no image is in two test mixes."""

    ood: Annotated[
        str, Flag("A folder or zip of one folder per OOD data set.", default="embedded ones", often=True)
    ] = ""
    classes: Annotated[
        str, Flag("A class manifest: its near and far classes are the OOD sets.", metavar="MANIFEST")
    ] = ""
    images: Annotated[
        str,
        Flag("A manifest's images: the folder of ROOT/SOURCE or ROOT/SOURCE.zip.", metavar="ROOT"),
    ] = ""
    id_up_to: Annotated[
        str, Flag("A manifest's oodness 0-1 (T1) or 0-2 (T2) is ID.", default="as assigned", metavar="T1|T2")
    ] = ""
    classes_per_set: Annotated[
        int,
        Field(ge=1, le=999_999),
        Flag("OOD sets of N related classes of a manifest.", metavar="N"),
    ] = 1
    exclude: Annotated[tuple[str, ...], Flag("An OOD set to leave out; may be repeated.")] = ()
    detectors: Annotated[
        tuple[str, ...], Flag("An OOD detector, as msp; may be repeated.", name="detector", often=True)
    ] = ("msp", "odin", "energy", "mls")
    metrics: Annotated[
        tuple[str, ...],
        Flag("fpr95, auroc, fpr80, ...; fpr95 ranks. May be repeated.", name="metric"),
    ] = ("fpr95", "auroc")
    ratio: Annotated[str, Flag("hidden (a mix's IND share drawn from .2 to .8), IND:OOD as 1:1, or any.")] = (
        "hidden"
    )
    sizes: Annotated[
        tuple[int, ...],
        Flag("A mix's images; with the ratio any, of each kind.", default="set_size", metavar="LOW HIGH"),
    ] = ()
    fpr: Annotated[
        str, Flag("Whose IND images set FPR's threshold: the whole pool's (pool), or the mix's (mix).")
    ] = "pool"
    test_ind: Annotated[
        str, Flag("IND images of the test alone, a folder or zip.", default="the source's")
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
        """Raise UnusableInput where the plan and the common settings do not go together."""
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
        """Returns the source's splits as they are."""
        return splits

    @property
    def named_base(self) -> int:
        """Images of each base, of a source that has a name."""
        return 4000

    def mix_sizes(self, set_size: int) -> "Sizes":
        """Returns how large mixes are."""
        from starter.build.mixes import Sizes

        low, high = self.sizes or (set_size, set_size)
        return Sizes(low, high, self.ratio)

    def subjects(self, classifiers: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the names of what is under evaluation.

        Every metric of every detector on every classifier.
        """
        return tuple(
            f"{classifier}:{detector}:{metric}"
            for classifier in classifiers
            for detector in self.detectors
            for metric in self.metrics
        )

    @property
    def public_paths(self) -> tuple[str, ...]:
        """The paths, besides the source, whose images participants get."""
        return tuple(path for path in (self.ood, self.images) if path)

    def public(self, settings: "Settings") -> dict[str, object]:
        """Returns the settings that participants see."""
        sizes = list(self.sizes or (settings.set_size, settings.set_size))
        return {"train_sets": settings.train_sets, "sizes": sizes, "ratio": self.ratio, "fpr": self.fpr}

    def largest(self, set_size: int) -> int:
        """Returns images of the largest mix."""
        return self.mix_sizes(set_size).high


RECORDED = (
    *("track", "source", "classifiers", "train_sets", "val_sets", "test_sets", "set_size", "group"),
    *("ops_per_set", "recipes", "val_from", "test_from", "grid", "laid", "seed", "precision", "hidden"),
    *("datacv_splits", "licence", "feedback", "decimals", "daily_limit", "total_limit", "deadline"),
)
"""The settings in the order in which records begin; those that are not here follow."""
PLANS: dict[str, type[AccuracyPlan] | type[OodPlan]] = {"accuracy": AccuracyPlan, "ood": OodPlan}
"""What is asked for in each track alone."""
TWO_SETS = "--test-sets must be at least 2: one for the public score, one for the private"


class Settings(Declared):
    """The settings of `unseen build`: all plain JSON values, so that a folder can keep them."""

    source: Annotated[str, Flag("glyphs, cifar10, or a path: class folders, zip or npz.", often=True)] = (
        "glyphs"
    )
    classifiers: Annotated[
        tuple[str, ...],
        Flag(
            "NAME=WEIGHTS (a file, official, module:function), timm:NET or torchvision:NET. May be repeated.",
            name="classifier",
            often=True,
        ),
    ] = ("small",)
    train_sets: Annotated[int, Field(ge=2, le=100_000), Flag("How many meta-train sets.", often=True)] = 120
    val_sets: Annotated[int, Count, Flag("How many labelled validation sets are made.", often=True)] = 24
    test_sets: Annotated[
        int,
        Count,
        Flag("How many hidden test sets are made.", default="48; mixes 40 or what fits", often=True),
    ] = 48
    set_size: Annotated[
        int,
        Field(ge=2, le=1_000_000),
        Flag("Images in a set.", default="500; mixes 125 or what fits", often=True),
    ] = 500
    test_from: Annotated[
        tuple[str, ...],
        Flag(
            "Sets of the test alone: natural shift, repeatable; in the OOD track a folder of OOD sets.",
            often=True,
        ),
    ] = ()
    grid: Annotated[
        str,
        Flag("Validation and test sets are cells of a grid of shifts.", metavar="ENCODER"),
    ] = ""
    laid: Annotated[
        str,
        Flag("The folder that shift laid wrote, for a grid.", default="trained here", metavar="DIR"),
    ] = ""
    image_size: Annotated[
        int,
        Field(ge=0, le=4096),
        Flag("Pixels of a side that images at paths are resized to.", default="the source's commonest size"),
    ] = 0
    resize: Annotated[
        str, Flag("How: crop (the middle), pad (black borders), stretch (proportions not kept).")
    ] = "crop"
    skip_unreadable: Annotated[
        float, Field(ge=0, lt=1), Flag("Share of a set's files that may be unreadable and are left out.")
    ] = 0.01
    seed: Annotated[int, Field(ge=0, le=2**63 - 1), Flag("Of the public part.")] = 0
    precision: Annotated[str, Flag("float32, or bfloat16 (faster where the CPU has it).")] = "float32"
    hidden: Annotated[bool, Flag("Declare the test images published nowhere.")] = False
    licence: Annotated[
        str,
        Flag("Of the images at paths, for the participants.", default="not stated", metavar="TEXT"),
    ] = ""
    contact: Annotated[str, Flag("Whom participants ask, for the archive's README.", metavar="TEXT")] = ""
    feedback: Annotated[
        str,
        Flag(
            "What a team is told: rounded: its public score; ladder: only a better one; guarded: even less.",
            default="rounded; with --hidden guarded",
        ),
    ] = ""
    decimals: Annotated[int, Field(ge=0, le=9), Flag("Of published scores.")] = 1
    daily_limit: Annotated[
        int | None,
        Limit,
        Flag("Submissions a team may make a day (UTC); 0: any number.", default="5 where rounded, else 0"),
    ] = None
    total_limit: Annotated[int, Limit, Flag("Submissions a team may make in all; 0: any number.")] = 0
    deadline: Annotated[
        str, Flag("The end, as 2026-12-31T23:59 (UTC, or with an offset).", default="none", metavar="TIME")
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
        if self.precision not in ("float32", "bfloat16"):
            raise UnusableInput(f"--precision must be float32 or bfloat16, got {self.precision!r}")
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
        """Settle what was left out: the feedback by whether the test is hidden, the limit by the feedback."""
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
                    f"--classifier {name} is given twice; each needs a name of its own (not only in case)"
                )

    def fit(self, size: tuple[int, int] | None = None) -> "Fit":
        """Returns how images at paths get one size: `size` (h, w), else --image-size, else the commonest."""
        from starter.images.reading import Fit

        asked = (self.image_size, self.image_size) if self.image_size else None
        return Fit(size or asked, self.resize, self.skip_unreadable)

    def at_default(self, name: str) -> bool:
        """Returns whether a common setting has the track's default, so that nobody needs it as it is."""
        return bool(getattr(self, name) == usual(self.plan.track)[name])

    def check_deadline(self, now: datetime) -> None:
        """Raise UnusableInput where the deadline has passed, so that nothing could be submitted."""
        deadline = _moment(self.deadline)
        if deadline is not None and deadline <= now:
            raise UnusableInput(f"--deadline {self.deadline} has passed: name a time to come")

    @property
    def classifier_names(self) -> tuple[str, ...]:
        """The names of the classifiers."""
        from starter.classifiers import classifier_name

        return tuple(map(classifier_name, self.classifiers))

    @property
    def subjects(self) -> tuple[str, ...]:
        """The names of what is under evaluation."""
        return self.plan.subjects(self.classifier_names)

    def rules(self) -> dict[str, Any]:
        """Returns the fields of a `Competition` that say how submissions are taken."""
        return {
            "feedback": self.feedback,
            "decimals": self.decimals,
            "deadline": _moment(self.deadline),
            "daily_limit": self.daily_limit or None,
            "total_limit": self.total_limit or None,
        }

    def public(self) -> dict[str, object]:
        """Returns the settings that participants see.

        The plan's, and whose cells validation and test sets are.
        """
        cells: dict[str, object] = {"grid": Path(self.grid).name} if self.grid else {}
        asked: dict[str, object] = {"contact": self.contact} if self.contact else {}
        return asked | cells | self.plan.public(self)

    def values(self) -> dict[str, Any]:
        """Returns every setting's value by its name, the plan's too."""
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
        """Returns each setting that differs, as a readable line."""
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
    """Returns every setting of a track by its name. Raises UnusableInput where there is no such track."""
    if track not in PLANS:
        raise UnusableInput(f"--track {track!r} is unknown; there are {', '.join(PLANS)}")
    return own_fields(Settings) | own_fields(PLANS[track])


def every_field() -> dict[str, FieldInfo]:
    """Returns every setting of either track by its name."""
    return {name: field for track in PLANS for name, field in fields_of(track).items()}


def settings_of(track: str, chosen: Mapping[str, object]) -> Settings:
    """Returns the settings of a track: those `chosen`, and the others at their defaults.

    Raises:
        UnusableInput: there is no such track, or a setting is of the other one, or cannot be used.
    """
    known = fields_of(track)
    for name in chosen:
        if name not in known:
            other = next((each for each in PLANS if name in fields_of(each)), "")
            if not other:
                raise UnusableInput(f"there is no setting {name!r}")
            raise UnusableInput(
                f"{flag_of(name, fields_of(other)[name])} is of the {other} track, and this competition of "
                f"the {track} track: leave it out"
            )
    plan, common = PLANS[track], own_fields(Settings)
    own: dict[str, Any] = {name: value for name, value in chosen.items() if name not in common}
    shared: dict[str, Any] = {name: value for name, value in chosen.items() if name in common}
    return Settings(**{**plan.usual, **shared}, plan=plan(**own))


def read_settings(document: Mapping[str, Any]) -> Settings:
    """Returns the settings of either track, from what `Settings.record` and JSON made of them.

    Raises:
        UnusableInput: a setting is unknown here, has another type or cannot be used.
    """
    track = str(document.get("track", "accuracy"))
    known = fields_of(track)
    unused = own_fields(AccuracyPlan).keys() - known
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in document.items() if k != "track"}
    for name, value in values.items():
        if name not in unused and (name not in known or problem_of(known[name], value)):
            raise UnusableInput(f"setting {name!r} of {value!r} is none of this version's")
    return settings_of(track, {name: value for name, value in values.items() if name in known})


def _moment(text: str) -> datetime | None:
    """Returns a deadline in UTC, None for "".

    >>> _moment("2026-12-31T12:00+01:00").isoformat()
    '2026-12-31T11:00:00+00:00'

    Raises:
        UnusableInput: it is no such time.
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
    """Returns whether one path is the other, or leads into it."""
    first, second = Path(one).resolve(), Path(other).resolve()
    return first.is_relative_to(second) or second.is_relative_to(first)
