"""Presets: settings of whole competitions by name; whatever else is asked for goes before them."""

from collections.abc import Collection, Mapping

from submission import UnusableInput

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
