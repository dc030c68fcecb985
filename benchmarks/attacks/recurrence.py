"""Labelling the images of test mixes by what recurs among them, from public/ alone.

python benchmarks/attacks/recurrence.py [DIR ...] [--quick]

Images that are equal, or near copies (mirrored, shifted, compressed), are one. Mixes that share many are of
one OOD set; what recurs beyond these is IND, what recurs within them alone is OOD. All other images are
labelled by the best of the competition's detectors, its threshold fitted on the labelled validation mixes.

Without DIR, two competitions are built with the defaults, the second a --hidden one of images written here;
with --quick one small one. Exit code 1 where the attack labels more images rightly than the detector alone.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from starter.build.build import build
from starter.build.presets import preset
from starter.build.settings import settings_of
from starter.competition.mixes import MixSets
from starter.competition.scorer import Scorer
from starter.images.arrays import read_npz
from starter.images.copies import Described, near_copies
from starter.images.imageset import ImageSet
from starter.images.reading import Fit
from starter.sources.glyphs.digits import glyph_splits
from starter.sources.glyphs.signs import other_glyphs
from starter.sources.oodsets import load_ind_images
from starter.sources.sources import load_source
from submission import Competition

OWN_SETS = ("arrows", "chess", "greek_lower", "zodiac", "smileys", "china_crops", "wave_soft", "armenian")
"""The embedded OOD sets whose like, drawn by another seed, a hidden competition's organizer has."""
OTHER_SEED = 77
MARGIN = 0.01
"""By how much of all images the attack may be luckier than the detector."""


@dataclass(frozen=True)
class Recurrence:
    """What recurs in test mixes.

    Attributes:
        groups: the number of each image's group, (n,): of those that are one.
        recurring: whether each stands in several mixes, (n,).
        is_ood: whether recurrence calls it OOD, (n,); False where it does not recur.
    """

    groups: NDArray[np.int64]
    recurring: NDArray[np.bool_]
    is_ood: NDArray[np.bool_]


def recurrence(images: NDArray[np.uint8], mixes: NDArray[np.int64]) -> Recurrence:
    """What images (n, h, w, 3) tell that stand in the mixes of these numbers (n,)."""
    groups = _groups(images)
    members = np.zeros((groups.max() + 1, mixes.max() + 1), bool)
    members[groups, mixes] = True
    shared = members.T.astype(np.int64) @ members.astype(np.int64)
    clusters = _clusters(shared)
    several = members.sum(axis=1) > 1
    foreign = np.array([len(np.unique(clusters[row])) > 1 for row in members])
    return Recurrence(groups, several[groups], (several & ~foreign)[groups])


def _groups(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """A number for each image; images that are equal or near copies have one."""
    whole = ImageSet("test", images)
    parent = np.unique([digest.hex() for digest in whole.hashes()], return_inverse=True)[1].astype(np.int64)
    described = Described.of(whole)
    for i, j in near_copies(described, described):
        if parent[i] != parent[j]:
            parent[parent == parent[j]] = parent[i]
    return np.unique(parent, return_inverse=True)[1].astype(np.int64)


def _clusters(shared: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each mix (m,), from how many images mixes share (m, m): that of its OOD set.

    Average linkage, cut where modularity is largest: what mixes of one set share beyond what any do.
    """
    counts = shared.astype(np.float64) - np.diag(np.diag(shared))
    degrees = counts.sum(axis=1)
    if not degrees.sum():
        return np.arange(len(counts))
    likeness = counts / np.sqrt(np.outer(degrees, degrees) + 1e-9)
    tree = linkage(squareform(likeness.max() - likeness, checks=False), "average")
    excess = counts - np.outer(degrees, degrees) / degrees.sum()
    cuts = [fcluster(tree, k, "maxclust") for k in range(1, len(counts) + 1)]
    return np.asarray(max(cuts, key=lambda cut: excess[cut[:, None] == cut].sum()), np.int64)


def detected(competition: Competition) -> NDArray[np.bool_]:
    """Whether each image of the test mixes (n,) is OOD to the detector that knows it best in validation."""
    sets, names = MixSets(competition), competition.sets("val")
    labels = [read_npz(competition.file(f"val/{name}.npz")).labels for name in names]
    truth = np.concatenate([each.astype(bool) for each in labels if each is not None])
    most, best = 0.0, np.zeros(0, bool)
    for classifier in competition.classifiers:
        scorer = Scorer.of_all(sets, classifier, ())
        for name in scorer.detectors:
            val, test = (
                np.concatenate([scorer.scores(name, each) for each in sets.stored(part)])
                for part in ("val", "test")
            )
            for cut in np.quantile(val, np.linspace(0, 1, 201)):
                if (right := float(((val > cut) == truth).mean())) > most:
                    most, best = right, test > cut
    return best


def truth_of(competition: Competition) -> frozenset[bytes]:
    """The hashes of all IND images that the test mixes are drawn from, which the organizer has."""
    record = json.loads((competition.private / "build.json").read_text(encoding="utf-8"))["settings"]
    splits = load_source(record["source"], None, record["seed"])
    own = record.get("test_ind")
    base = load_ind_images(own, Fit(splits.image_size)) if own else splits.test_base
    return frozenset(base.hashes())


def attack(competition: Competition) -> tuple[float, float, float]:
    """The shares of images that recur, that the attack labels rightly, and that the detector alone does."""
    sets = [read_npz(competition.file(f"test/{name}.npz")) for name in competition.sets("test")]
    images = ImageSet("test", np.concatenate([each.images for each in sets]))
    mixes = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
    ind = truth_of(competition)
    truth = np.array([digest not in ind for digest in images.hashes()])
    found, alone = recurrence(images.images, mixes), detected(competition)
    guess = np.where(found.recurring, found.is_ood, alone)
    return tuple(float(each.mean()) for each in (found.recurring, guess == truth, alone == truth))


def built(folder: Path, quick: bool) -> Iterator[Competition]:
    """Competitions of the embedded images with the defaults, or a small one."""
    if quick:
        few = {**preset("small", "ood"), "train_sets": 4, "val_sets": 4, "detectors": ("msp", "energy")}
        yield build(folder / "small", settings_of("ood", few))
        return
    yield build(folder / "default", settings_of("ood", {}))
    write_own(folder / "own")
    own = {"test_from": (str(folder / "own/ood"),), "test_ind": str(folder / "own/ind"), "hidden": True}
    yield build(folder / "hidden", settings_of("ood", own))


def write_own(folder: Path) -> None:
    """OOD sets and IND images, drawn by another seed, as files."""
    drawn = other_glyphs(OTHER_SEED)
    sets = {f"ood/own-{name}": drawn[name].images for name in OWN_SETS}
    sets["ind"] = glyph_splits(OTHER_SEED).test_base.images
    for name, images in sets.items():
        (folder / name).mkdir(parents=True)
        for i, image in enumerate(images):
            cv2.imwrite(str(folder / name / f"{i:04d}.png"), image[..., ::-1])


def main() -> None:
    """Attack, print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    held = True
    with tempfile.TemporaryDirectory() as folder:
        given = map(Competition.open, options.folders)
        for each in given if options.folders else built(Path(folder), options.quick):
            recurring, right, alone = attack(each)
            held &= right <= alone + MARGIN
            print(
                f"{each.name}: {recurring:.1%} of images recur; labelled rightly {right:.1%}, by a detector "
                f"alone {alone:.1%}",
                flush=True,
            )
    sys.exit(int(not held))


if __name__ == "__main__":
    main()
