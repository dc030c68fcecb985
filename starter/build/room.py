"""The number and sizes of mixes that the available images allow.

No image is in two mixes of a test, since that would reveal that it is IND; and a lack of images never narrows
the range of IND shares, since the target would be nearly known. Instead there are fewer or smaller mixes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from starter.build.mixes import FULL, Sizes, part_sets
from starter.build.settings import OodPlan, Settings
from starter.meaning.oodsets import count_class_images
from starter.sources.oodsets import count_ood_images
from submission.errors import UnusableInput

KEPT = 1000
"""Number of images of an OOD set for labelled mixes, if it is more than twice those of the largest mix."""


@dataclass(frozen=True)
class Images:
    """The numbers of available images.

    Attributes:
        ind: Number of IND images, by part.
        ood: Number of images of each OOD set, by part and name; a test without any uses cells that are made
            later.
    """

    ind: Mapping[str, int]
    ood: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Room:
    """The mixes of a test that the available images allow.

    Attributes:
        count: Number of mixes.
        sizes: Sizes of all mixes.
        images: Numbers of available images.
    """

    count: int
    sizes: Sizes
    images: Images

    def __str__(self) -> str:
        sizes = sorted({self.sizes.low, self.sizes.high})
        ind, ood, most = self.images.ind["test"], self.images.ood["test"], self.sizes.most[1]
        there, room = sum(ood.values()), sum(pool // most for pool in ood.values())
        of = f"{' to '.join(map(str, sizes))} {self.sizes.counted}"
        lines = [
            f"mixes   {self.count} of {of} in the test, none of them in two",
            f"IND     {self.sizes.needed(self.count):,} images needed, {ind:,} there",
            f"OOD     {self.count * most:,} images needed, {there:,} there, with room for {room} mixes",
        ]
        return "\n".join(lines if ood else lines[:2])


def fit(settings: Settings, plan: OodPlan, images: Images) -> Room:
    """Returns the number and sizes of a test's mixes: those of the settings, or defaults that fit the images.

    Raises:
        UnusableInput: there are too few images; the message gives a remedy.
    """
    asked = Room(settings.test_sets, plan.mix_sizes(settings.set_size), images)
    problem = _shortage(asked, settings, plan)
    if not problem:
        return asked
    for smaller in _smaller(asked, settings, plan):
        if not _shortage(smaller, settings, plan):
            return smaller
    raise UnusableInput(problem)


def read_most(settings: Settings, plan: OodPlan, tested: int) -> int:
    """Returns the largest number of images that are read of an OOD set.

    Of sets outside the test, `kept_most` images are kept.

    Args:
        settings: Settings of the build.
        plan: Settings of the OOD track.
        tested: Number of OOD sets of the test.
    """
    most = plan.mix_sizes(settings.set_size).most[1]
    return max(kept_most(settings, plan), 2 * most * -(-settings.test_sets // max(tested, 1)))


def kept_most(settings: Settings, plan: OodPlan) -> int:
    """Returns the largest number of images of an OOD set for labelled mixes."""
    return max(KEPT, 2 * plan.largest(settings.set_size))


def count_ood(settings: Settings, plan: OodPlan, classes: Sequence[str]) -> dict[str, dict[str, int]]:
    """Returns the number of images of each OOD set, by part and name, without reading them.

    Raises:
        UnusableInput: see `count_class_images`, `count_ood_images` and `part_sets`; or two sets have the same
            name.
    """
    if plan.classes:
        reading = plan.id_up_to, plan.classes_per_set
        counts = count_class_images(plan.classes, plan.images, *reading, plan.exclude)
    else:
        counts = count_ood_images(plan.ood, classes, plan.exclude)
    tested: dict[str, int] = {}
    for path in settings.test_from:
        tested = count_ood_images(path, classes)
        if both := sorted(counts.keys() & tested):
            raise UnusableInput(f"--test-from {path}: --ood has a set {both[0]!r} too: rename one of them")
    parts = part_sets(list(counts), settings.seed, list(tested))
    most = {part: kept_most(settings, plan) for part in parts}
    most["test"] = read_most(settings, plan, len(parts["test"]))
    known = {**counts, **tested}
    return {part: {name: min(known[name], most[part]) for name in names} for part, names in parts.items()}


def _smaller(asked: Room, settings: Settings, plan: OodPlan) -> Iterator[Room]:
    """Yield rooms with fewer or smaller mixes, best first, unless their size and number were given."""
    by_default = settings.at_default("set_size") and not plan.sizes
    low = min(max(FULL, asked.sizes.least), asked.sizes.low) if by_default else asked.sizes.low
    for size in range(asked.sizes.low - 1, low - 1, -1):
        yield replace(asked, sizes=replace(asked.sizes, low=size, high=size))
    least = replace(asked, sizes=replace(asked.sizes, low=low, high=low)) if by_default else asked
    if settings.at_default("test_sets"):
        for count in range(asked.count - 1, 1, -1):
            yield replace(least, count=count)


def _shortage(room: Room, settings: Settings, plan: OodPlan) -> str:
    """Returns a line with the missing images and a remedy; "" if there are enough."""
    counts = {"train": settings.train_sets, "val": settings.val_sets, "test": room.count}
    size = "--sizes" if plan.sizes else "--set-size"
    for part, sets in room.images.ood.items():
        for kind, most, pools in zip(
            ("IND", "OOD"), room.sizes.most, ({"": room.images.ind[part]}, sets), strict=True
        ):
            for name, pool in pools.items():
                if counts[part] and pool < most:
                    whose = f"OOD set {name!r} has" if name else f"the {part} mixes have"
                    more = ", join more classes in a set (--classes-per-set)" if plan.classes else ""
                    leave = f"{more}, or leave it out: --exclude {name}" if name else ""
                    return (
                        f"{whose} {pool:,} {kind} images to draw from, and a mix of {room.sizes.high} has up "
                        f"to {most}: ask for smaller mixes ({size}){leave}"
                    )
    return _of_all(room, size)


def _of_all(room: Room, size: str) -> str:
    """Returns such a line for the images that a test's mixes lack together; "" if there are enough."""
    ind, needed, most = room.images.ind["test"], room.sizes.needed(room.count), room.sizes.most[1]
    places = sum(pool // most for pool in room.images.ood["test"].values())
    mixes = f"{room.count} test mixes of {room.sizes.high} {room.sizes.counted}, no image in two of them,"
    if needed > ind:
        fewer = next((count for count in range(room.count, 0, -1) if room.sizes.needed(count) <= ind), 0)
        change = f"--test-sets {fewer}, or " if fewer > 1 else ""
        return f"{mixes} need {needed:,} IND images, and there are {ind:,}: ask for {change}a smaller {size}"
    if room.images.ood["test"] and places < room.count:
        change = f"--test-sets {places}, or " if places > 1 else ""
        return (
            f"{mixes} need {most} images of an OOD set each, and those of the test have room for {places}: "
            f"ask for {change}a smaller {size}, or give more OOD images"
        )
    return ""
