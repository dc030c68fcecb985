"""Presets: settings of whole competitions by name; explicit settings override them."""

from submission import UnusableInput
from submission.tracks import require_track

PRESETS: dict[str, dict[str, dict[str, object]]] = {
    "datacv2023": {
        "accuracy": {
            "source": "cifar10",
            "classifiers": ("resnet56=official", "repvgg_a0=official"),
            "train_sets": 1000,
            "val_sets": 0,
            "test_sets": 100,
            "set_size": 10_000,
            "datacv_splits": True,
        },
    },
    "small": {
        "accuracy": {
            "train_sets": 40,
            "val_sets": 8,
            "test_sets": 40,
            "set_size": 200,
            "ops_per_set": (1, 3),
        },
        "ood": {"train_sets": 40, "val_sets": 8, "test_sets": 16, "set_size": 200},
    },
}
"""Settings of whole competitions, by the preset's name and the track.

`datacv2023` is the DataCV challenge of CVPR 2023: two classifiers, a thousand meta-train sets of the whole
test split of CIFAR-10 under the default group. Its validation sets, CIFAR-10.1 and corruptions of it, are
given by ``--val-from``. `small` is built in seconds on the embedded data.
"""


def preset(name: str, track: str) -> dict[str, object]:
    """Returns the settings of a preset. Raises UnusableInput if the track has no preset of this name."""
    found = PRESETS.get(name, {}).get(require_track(track))
    if found is None:
        known = ", ".join(each for each in PRESETS if track in PRESETS[each])
        raise UnusableInput(f"--preset {name!r} is none of the {track} track, which has {known}")
    return found
