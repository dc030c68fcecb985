"""Room for mixes: defaults give way to the images that there are, what was asked for is refused in words."""

import pytest
from asked import ood_settings

from starter.build.mixes import Sizes
from starter.build.room import Images, Room, count_ood, fit
from starter.sources.glyphs.digits import CLASSES
from submission import UnusableInput

SETS = {f"{name}_1": 400 for name in "abcdefghijk"}


def images(ind=3000, tested=SETS, shown=SETS):
    """As many as of CIFAR-10, and eleven OOD sets of each part, unless told otherwise."""
    return Images({"train": 4000, "val": 1000, "test": ind}, {"train": shown, "val": shown, "test": tested})


def fitted(found=None, **asked):
    settings = ood_settings(**asked)
    return fit(settings, settings.plan, found or images())


def test_the_defaults_fit_cifar_and_the_embedded_sets():
    """Forty mixes, so that twelve are public."""
    assert (fitted().count, fitted().sizes) == (40, Sizes(125, 125))
    settings = ood_settings()
    found = fitted(images(tested=count_ood(settings, settings.plan, CLASSES)["test"]))
    assert (found.count, found.sizes) == (40, Sizes(125, 125))


@pytest.mark.parametrize(
    ("found", "asked", "count", "size"),
    [
        (images(2500), {}, 40, 107),
        (images(2000), {}, 33, 100),
        (images(tested={"a": 400, "b": 400}), {}, 10, 100),
        (images(shown={"a": 82}), {}, 40, 103),
        (images(), {"test_sets": 48}, 48, 100),
        (images(), {"set_size": 500}, 8, 500),
        (images(), {"sizes": (125, 125), "ratio": "1:1"}, 40, 125),
        (images(3600), {"ratio": "5:1"}, 36, 120),
    ],
)
def test_what_nobody_asked_for_gives_way(found, asked, count, size):
    room = fitted(found, **asked)
    assert (room.count, room.sizes.low, room.sizes.high) == (count, size, size)
    assert room.sizes.needed(count) <= found.ind["test"]


@pytest.mark.parametrize(
    ("found", "asked", "message"),
    [
        (
            images(),
            {"test_sets": 48, "set_size": 500},
            "^48 test mixes of 500 images, no image in two of them, need 13,800 IND images, and there are 3,000: "
            "ask for --test-sets 8, or a smaller --set-size$",
        ),
        (
            images(tested={"a": 133, "b": 900}),
            {"test_sets": 9, "sizes": (150, 160)},
            "^9 test mixes of 160 .*need 128 images of an OOD set each, and those of the test have room for 8",
        ),
        (
            images(tested={"a": 133, "b": 400}),
            {"test_sets": 2, "set_size": 500},
            "^OOD set 'a' has 133 OOD images to draw from, and a mix of 500 has up to 400: ask for smaller mixes "
            r"\(--set-size\), or leave it out: --exclude a$",
        ),
        (images(shown={"a": 79}), {}, "OOD set 'a' has 79 OOD images"),
        (
            images(shown={"apple_far_zoo": 40}),
            {"classes": "zoo.csv", "images": "."},
            r"mixes \(--set-size\), join more classes in a set \(--classes-per-set\), or leave it out",
        ),
        (images(99), {}, "^the test mixes have 99 IND images to draw from"),
        (
            Images({"train": 90, "val": 1000, "test": 3000}, images().ood),
            {"set_size": 200, "test_sets": 3},
            "^the train mixes have 90 IND images",
        ),
    ],
)
def test_what_was_asked_for_is_refused_where_images_run_short(found, asked, message):
    with pytest.raises(UnusableInput, match=message):
        fitted(found, **asked)


def test_what_is_not_made_needs_no_images():
    short = Images({"train": 4000, "val": 10, "test": 3000}, images().ood)
    assert fitted(short, val_sets=0).count == 40


def test_a_dry_run_says_what_is_needed_and_what_is_there():
    assert str(Room(40, Sizes(125, 125), images())).splitlines() == [
        "mixes   40 of 125 images in the test, none of them in two",
        "IND     2,911 images needed, 3,000 there",
        "OOD     4,000 images needed, 4,400 there, with room for 44 mixes",
    ]
    assert "8 of 100 to 200 images" in str(Room(8, Sizes(100, 200), images()))
    assert "8 of 100 images of each kind" in str(Room(8, Sizes(100, 100, "any"), images()))
    assert len(str(Room(40, Sizes(125, 125), images(tested={}))).splitlines()) == 2
