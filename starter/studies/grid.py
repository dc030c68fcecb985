"""Running OOD detectors of a competition's classifier over a grid of shifts, from its public images alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from starter.competition.ood import MixSets, View
from starter.detectors import DETECTORS
from starter.encoders import Encoder
from starter.images.imageset import ImageSet
from starter.operations import GROUPS
from starter.sets.recipe import generator
from starter.sets.rendering import FromRecipe
from starter.shift.degrees import LEAST, LEVELS, ShiftGrid
from starter.shift.grid import Grid, measure
from starter.shift.images import IND, Joined, embedded_shifts, is_embedded, shifted
from starter.shift.laid import Laid
from starter.shift.referee import kept_in
from starter.shift.ruler import Ruler
from starter.sources.oodsets import load_ood_sets, without_shared
from submission import Competition, UnusableInput

Referee = Callable[[Sequence[str], Path, int, str, bool], tuple[Encoder, Laid]]
"""From the ID classes, a folder to keep things in, a seed, a device and whether bars are shown."""


@dataclass(frozen=True)
class Asked:
    """What a grid is made of.

    Attributes:
        classifier: one of the competition's.
        detectors: names in DETECTORS.
        ood: a folder or zip of one folder per OOD set; "" for the embedded ones.
        exclude: OOD sets to leave out.
        only_ood: shift OOD sets alone, and no images of the ID classes.
        group: the operations, a name in GROUPS.
        images: how many shifted images, about.
        levels: of either axis.
        least: cells of fewer images are N/A.
        seed: of the shifted images.

    Raises:
        UnusableInput: a number is out of range, or group or detector are unknown, or one stands there twice.
    """

    classifier: str
    detectors: tuple[str, ...] = tuple(DETECTORS)
    ood: str = ""
    exclude: tuple[str, ...] = ()
    only_ood: bool = False
    group: str = "corruptions"
    images: int = 20_000
    levels: int = LEVELS
    least: int = LEAST
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (("images", 100, 10**8), ("levels", 2, 100), ("least", 1, 10**8)):
            if not low <= getattr(self, name) <= high:
                raise UnusableInput(f"--{name} must be {low} to {high:,}, got {getattr(self, name)}")
        if self.group not in GROUPS:
            raise UnusableInput(f"--group {self.group!r} is unknown; there are {', '.join(GROUPS)}")
        if self.seed < 0:
            raise UnusableInput(f"--seed must be 0 or more, got {self.seed}")
        for name in self.detectors:
            if name not in DETECTORS:
                raise UnusableInput(f"--detector {name!r} is unknown; there are {', '.join(DETECTORS)}")
            if self.detectors.count(name) > 1:
                raise UnusableInput(f"--detector {name} stands there twice")


@dataclass(frozen=True)
class GridRun:
    """A grid and what it was made of.

    Attributes:
        competition: its name.
        asked: what was run.
        encoder: the encoder's name.
        shift: the cells.
        grid: the detectors on them.
        ind: how many IND images every cell was held against.
    """

    competition: str
    asked: Asked
    encoder: str
    shift: ShiftGrid
    grid: Grid
    ind: int


def run_grid(
    competition: Competition,
    referee: Referee,
    asked: Asked,
    device: str = "cpu",
    progress: bool = True,
) -> GridRun:
    """Measure how detectors do as shifts grow (Long et al., NeurIPS 2024, section 3).

    Half of the competition's base images are IND; the other half and OOD sets are shifted. Degrees are
    distances from its unlabelled training images. Observations, scores and degrees are kept in its cache.

    Args:
        competition: of either track; nothing below ``private/`` is read.
        referee: gives the encoder of the images and its matrix, as `open_referee` with its first arguments;
            called once all else is known to be there.
        asked: what to run.
        device: where classifier and distances are computed.
        progress: whether bars are shown.

    Raises:
        UnusableInput: the competition has no such classifier, OOD sets or weights cannot be read, the images
            cannot be encoded, or they are all equally far.
    """
    sets = MixSets(competition)
    if asked.classifier not in competition.classifiers:
        known = ", ".join(competition.classifiers)
        raise UnusableInput(f"--classifier {asked.classifier!r} is none of {competition.root}'s: {known}")
    view = View.open(sets, asked.classifier, asked.detectors, device=device)
    ind, renderings = grid_images(sets, asked)
    encoder, laid = referee(competition.classes, kept_in(competition.root), asked.seed, device, progress)
    whole, cache = FromRecipe.whole(ind), view.subject.observer.cache
    view.observe([whole, *renderings], progress)
    ruler = Ruler.of(encoder, laid, sets.train_ref, device)
    semantic, covariate = ruler.measure(renderings, cache, progress)
    for axis, found in (("semantic", semantic), ("covariate", covariate)):
        if np.ptp(found) == 0:
            raise UnusableInput(f"encoder {encoder.name}: all images have the same {axis} degree")
    shift = ShiftGrid.of(semantic, covariate, count=asked.levels)
    scores = {
        name: np.concatenate([view.scores(name, each) for each in renderings]) for name in asked.detectors
    }
    of_ind = {name: view.scores(name, whole) for name in asked.detectors}
    grid = measure(of_ind, scores, shift, asked.least)
    return GridRun(competition.name, asked, encoder.name, shift, grid, len(ind))


def grid_images(sets: MixSets, asked: Asked) -> tuple[ImageSet, list[Joined]]:
    """The IND images, and the renderings of all shifted ones."""
    competition, base = sets.competition, replace(sets.base, labels=None)
    order = generator(asked.seed, "grid halves").permutation(len(base))
    ind, rest = (np.sort(half) for half in np.array_split(order, 2))
    others = load_ood_sets(
        asked.ood,
        competition.classes,
        competition.image_size,
        asked.exclude,
        max(1, asked.images // 10),
        asked.seed,
    )
    others = without_shared(others, (base, sets.reference, sets.train_ref))
    if asked.only_ood and not others:
        raise UnusableInput("--only-ood: no OOD set is left to shift: exclude fewer, or name others by --ood")
    known = {} if asked.only_ood else {IND: base.take(rest, IND)}
    if known and is_embedded(competition.source, competition.classes):
        known |= embedded_shifts("meta_base", asked.images, asked.seed, labelled=False)
    return base.take(ind, IND), shifted(known, others, asked.images, asked.group, asked.seed)
