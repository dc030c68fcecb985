"""What `unseen build --track ood` was asked for; and reading the settings of either track.

Presets: settings of whole competitions by name; whatever else is asked for goes before them.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from starter.build.plan import Settings
from starter.detectors import DETECTORS
from starter.meaning.oodsets import check_reading, count_class_images
from starter.sets.mix import HIDDEN, Sizes
from submission import UnusableInput
from submission.tracks import TRACKS

POOL, MIX = "pool", "mix"
"""Whose IND images set the threshold of FPR: the whole pool's, or the mix's (as in the Gscore paper)."""
ELSEWHERE = ("group", "ops_per_set", "recipes", "val_from", "datacv_splits")
"""Settings of the accuracy track alone."""
INSTEAD = {"val_from": "validation mixes are made from --ood and --source"}
"""What serves in the OOD track in their place."""


@dataclass(frozen=True)
class MixSettings(Settings):
    """Settings of the OOD track; `train_sets`, `val_sets` and `test_sets` count mixes.

    Attributes:
        ood: a folder or zip of one folder per OOD data set; "" for the embedded ones.
        classes: a class manifest, whose near and far classes are the OOD sets in place of `ood`.
        images: where the images of its classes are.
        id_up_to: how it is read, a key of `READINGS`.
        classes_per_set: how many classes of it make up an OOD set.
        exclude: OOD sets to leave out, besides those that overlap with the IND classes.
        detectors: names in DETECTORS.
        metrics: names in DETECTION_METRICS.
        ratio: how many IND images a mix has for its OOD images; see `Sizes`.
        sizes: a mix's images, at least and at most; () for `set_size`.
        fpr: POOL or MIX.
        test_from: one folder or zip as `ood`, of OOD sets that only test mixes hold; none of `ood` is then in
            a test mix.
        test_ind: a folder or zip of IND images that only test mixes hold; "" for those of the source.
        hidden: the images of `test_from` and `test_ind` stand nowhere in public.
    """

    track: ClassVar[str] = "ood"

    ood: str = ""
    classes: str = ""
    images: str = ""
    id_up_to: str = ""
    classes_per_set: int = 1
    exclude: tuple[str, ...] = ()
    detectors: tuple[str, ...] = ("msp", "odin", "energy", "mls")
    metrics: tuple[str, ...] = ("fpr95", "auroc")
    ratio: str = HIDDEN
    sizes: tuple[int, ...] = ()
    fpr: str = POOL
    test_ind: str = ""

    def __post_init__(self) -> None:
        usual = {field.name: field.default for field in fields(Settings)}
        for name in ELSEWHERE:
            if getattr(self, name) != usual[name]:
                raise UnusableInput(_elsewhere(name))
        super().__post_init__()
        object.__setattr__(self, "ops_per_set", ())
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
                    raise UnusableInput(f"--{option} {name} stands there twice")
        self._check_classes()
        if self.fpr not in (POOL, MIX):
            raise UnusableInput(f"--fpr must be {POOL} or {MIX}, got {self.fpr!r}")
        _ = self.mix_sizes

    def _check_classes(self) -> None:
        check_reading(self.id_up_to)
        if self.classes and self.ood:
            raise UnusableInput("--classes gives the OOD sets: leave --ood out")
        if self.classes and not self.images:
            raise UnusableInput("--classes needs --images ROOT, where the class folders of its sources are")
        if not 1 <= self.classes_per_set < 10**6:
            raise UnusableInput(f"--classes-per-set must be at least 1, got {self.classes_per_set}")
        own = {"images": self.images, "id-up-to": self.id_up_to, "classes-per-set": self.classes_per_set > 1}
        for option, value in own.items():
            if value and not self.classes:
                raise UnusableInput(f"--{option} belongs to --classes MANIFEST, which is missing")

    def _check_test(self) -> None:
        if self.test_sets < 2:
            raise UnusableInput(
                "--test-sets must be at least 2: one for the public score, one for the private"
            )
        if len(self.test_from) > 1:
            raise UnusableInput("--test-from: name one folder or zip, of one folder per OOD data set")
        if self.test_ind and not self.test_from:
            raise UnusableInput("--test-ind belongs to --test-from PATH, the OOD sets of the test")
        if self.hidden and not (self.test_from and self.test_ind):
            raise UnusableInput(
                "--hidden needs test images of your own: --test-from PATH for OOD sets and --test-ind PATH "
                "for IND images"
            )

    def check_files(self) -> None:
        """Raise UnusableInput, before images are read, for a bad manifest or a class without images."""
        if self.classes:
            reading = self.id_up_to, self.classes_per_set
            count_class_images(self.classes, self.images, *reading, self.exclude)

    @property
    def mix_sizes(self) -> Sizes:
        """How large mixes are."""
        low, high = self.sizes or (self.set_size, self.set_size)
        return Sizes(low, high, self.ratio)

    @property
    def subjects(self) -> tuple[str, ...]:
        """Every metric of every detector on every classifier."""
        return tuple(
            f"{classifier}:{detector}:{metric}"
            for classifier in self.classifier_names
            for detector in self.detectors
            for metric in self.metrics
        )

    @property
    def public_paths(self) -> tuple[str, ...]:
        return tuple(path for path in (self.ood, self.images) if path)

    def public(self) -> dict[str, object]:
        """The settings that participants see."""
        low, high = self.sizes or (self.set_size, self.set_size)
        own = {"train_sets": self.train_sets, "sizes": [low, high], "ratio": self.ratio, "fpr": self.fpr}
        return self._cells() | own

    def record(self) -> dict[str, Any]:
        return {"track": self.track, **asdict(self)}


SETTINGS = {"accuracy": Settings, "ood": MixSettings}
"""The settings of each track."""


def read_settings(document: dict[str, Any]) -> Settings:
    """The settings of either track, from what `record` and JSON made of them.

    Raises:
        UnusableInput: a setting is unknown here, has another type or cannot be used.
    """
    rest = {name: value for name, value in document.items() if name != "track"}
    return SETTINGS[document.get("track", "accuracy")].from_json(rest)


def settings_of(track: str, options: Mapping[str, object], given: Collection[str] = ()) -> Settings:
    """The settings of a track, from options of either: what belongs to the other track must not be `given`.

    Raises:
        UnusableInput: there is no such track, an option given is of the other one, or cannot be used.
    """
    if track not in SETTINGS:
        raise UnusableInput(f"--track {track!r} is unknown; there are {', '.join(SETTINGS)}")
    mixed = {field.name for field in fields(MixSettings)} - {field.name for field in fields(Settings)}
    foreign = {"accuracy": mixed, "ood": set(ELSEWHERE)}[track]
    if wrong := sorted(foreign.intersection(given)):
        if track == "ood":
            raise UnusableInput(_elsewhere(wrong[0]))
        option = wrong[0].removesuffix("s") if wrong[0] in ("detectors", "metrics") else wrong[0]
        raise UnusableInput(f"--{option.replace('_', '-')} is of the ood track, this is the {track} track")
    mine = {name: value for name, value in options.items() if name not in foreign}
    return SETTINGS[track](**mine)  # type: ignore[arg-type]


def _elsewhere(setting: str) -> str:
    """What is told of an accuracy setting in the OOD track."""
    instead = INSTEAD.get(setting, "leave it out here")
    return f"--{setting.replace('_', '-')} is of the accuracy track: {instead}"


PRESETS: dict[str, dict[str, object]] = {
    "datacv2023": {
        "source": "cifar10",
        "classifiers": ("resnet56=official", "repvgg_a0=official"),
        "train_sets": 1000,
        "val_sets": 0,
        "test_sets": 100,
        "set_size": 10_000,
        "datacv_splits": True,
    },
    "small": {"train_sets": 40, "val_sets": 8, "test_sets": 16, "set_size": 200, "ops_per_set": (1, 3)},
}
"""Fields of `Settings` by the preset's name.

`datacv2023` is the DataCV challenge of CVPR 2023: two classifiers, a thousand meta-train sets of the whole
test split of CIFAR-10 under the default group. Its validation sets, CIFAR-10.1 and corruptions of it, come by
``--val-from``. `small` is built in seconds on the embedded data.
"""


ACCURACY_ALONE = ("datacv2023",)
"""Presets that mean nothing in the OOD track."""


def with_preset(
    name: str | None, options: Mapping[str, object], given: Collection[str], track: str = "accuracy"
) -> dict[str, object]:
    """The options, with those of a preset in place of the ones that the user did not give.

    >>> with_preset("small", {"train_sets": 120, "val_sets": 3, "seed": 0}, {"val_sets"})["val_sets"]
    3

    Raises:
        UnusableInput: there is no such preset, or it is of the other track.
    """
    if name is None:
        return dict(options)
    if name not in PRESETS:
        raise UnusableInput(f"--preset {name!r} is unknown; there are {', '.join(PRESETS)}")
    if track != "accuracy" and name in ACCURACY_ALONE:
        raise UnusableInput(f"--preset {name} is of the accuracy track, not of --track {track}: leave it out")
    return {**options, **{key: value for key, value in PRESETS[name].items() if key not in given}}
