"""Audit of a competition: what could reveal a hidden label, and what makes ranks accidents, one line each."""

import math
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from starter.contest.accuracy.plan import LEAKED_SHARE
from starter.contest.record import guessable, read_record
from starter.contest.subject import open_observer
from starter.data.images.arrays import read_npz
from starter.data.sets.mix import Mix
from starter.models.classifiers.engine import may_differ
from starter.observing.cache import cache_of
from starter.observing.detectors.metrics import auroc
from starter.observing.observe import read
from starter.observing.sets import PublicSets
from submission import Competition
from submission.arrays import BoolArray, Pixels
from submission.competition import FEW
from submission.metrics import INTERVAL_FAMILIES
from submission.progress import progress
from submission.random import AUDIT
from submission.scoretable import Targets, constant_error
from submission.solution import solution_of, whole_solution

Finding = tuple[str, str]
"""A grade, "error" (to be fixed first), "warning" or "note", and a line on a leak or an accident."""
PATCH = 8
"""Side of a patch in pixels."""
SHARED = 3
"""Number of patches that two mixes share by no accident."""
CONTRAST = 16
"""Largest range of values in a patch that counts as plain."""
PATCHES = 625
"""Number of patches of an image that are compared, about: all of an image of 32 x 32 pixels."""
QUALITIES = (75, 85, 95)
"""Qualities of JPEG with which images are compressed again: one that was compressed so changes little."""
TELLING = 0.8
"""Smallest AUC of IND against OOD at which a cheap statistic tells them apart."""
SKILL = 0.2
"""Least gain of a classifier over guessing, as a fraction of a perfect one's."""
SPREAD = 2.0
"""Smallest standard deviation of the truths, as a multiple of their sampling noise."""
DIGIT = 0.01
"""Smallest useful step of published scores, as a fraction of a score's standard error."""
VARIED = {
    "accuracy": "build with larger sets (--set-size), or stronger or more varied shifts",
    "ood": "build with larger sets (--set-size), or more varied OOD sets (--ood)",
}
"""What makes the true values of a track's sets differ by more than noise."""


def audit(competition: Competition, device: str = "cpu") -> tuple[Finding, ...]:
    """Returns all findings in the organizer's copy, errors first."""
    competition.require_private()
    found = [finding for check in LEAKS for finding in check(competition)]
    found += [("warning", text) for text in rank_warnings(competition, device)]
    return tuple(sorted(found, key=lambda finding: ("error", "warning", "note").index(finding[0])))


def rank_warnings(competition: Competition, device: str = "cpu") -> Iterator[str]:
    """Yield each reason why a competition may not rank methods by their worth."""
    return chain(near_chance(competition, device), *(check(competition) for check in ACCIDENTS))


def practice(competition: Competition) -> Iterator[Finding]:
    """Yield whether labels can be looked up, in public images or in another test set of the same images."""
    if competition.visibility == "practice":
        yield "warning", "practice: the test images are public, so that labels can be looked up"
    tests = read_record(competition.root).get("test", ())
    turns = [test["base"] for test in tests if test.get("base", {}).get("kind") == "turn"]
    most = max((1 + origin["turn"] // origin["turns"] for origin in turns), default=1)
    if most > 1:
        text = f"each base image stands in {most} of {len(turns)} test sets, and a clean copy tells on a"
        yield "warning", f"{text} blurred one: make fewer or smaller sets"


def permissions(competition: Competition) -> Iterator[Finding]:
    """Yield folders that others can read: private/, and a cache that tells IND from OOD images."""
    folders = [competition.private]
    cache = cache_of(competition.root).root
    if competition.track == "ood" and cache.is_dir():
        folders.append(cache)
    for folder in folders:
        mode = folder.stat().st_mode & 0o777
        if mode & 0o077:
            yield "error", f"{folder} is open to others (mode {mode:04o}): chmod 700 {folder}"


def seed(competition: Competition) -> Iterator[Finding]:
    """Yield a test seed that can be guessed."""
    if problem := guessable(read_record(competition.root).get("test_seed", 2**32)):
        yield "error", problem


def strays(competition: Competition) -> Iterator[Finding]:
    """Yield the files in public/ that are not from the build; `pack` omits them, but a copy has them."""
    private = competition.private.resolve()
    listed = {*competition.files, "competition.json"}
    for path in sorted(competition.public.rglob("*")):
        if path.is_symlink() and Path(os.path.realpath(path)).is_relative_to(private):
            yield "error", f"{path} leads into {competition.private}: remove the link"
        elif path.is_file() and path.relative_to(competition.public).as_posix() not in listed:
            yield "error", f"{path} is not part of the competition: remove it"


def equal_pixels(competition: Competition) -> Iterator[Finding]:
    """Yield test sets with public images, and mixes that share images, which only IND images could."""
    files = [name for name in competition.files if name.endswith(".npz") and not name.startswith("test/")]
    public = {file: _hashes(competition, file) for file in files}
    names = competition.sets("test")
    tests = {name: _hashes(competition, f"test/{name}.npz") for name in progress(names, "compare pixels")}
    for name, mine in tests.items():
        n = competition.sizes["test"][name]
        found, where = max((len(mine & theirs), file) for file, theirs in public.items())
        if found:
            grave = competition.visibility == "hidden" or found > LEAKED_SHARE * n
            text = f"{found} of the {n} images of test set {name} stand in public/{where}, pixel for pixel"
            yield "error" if grave else "warning", f"{text}: take them out, build again"
    mixes = Counter(chain.from_iterable(tests.values()))
    counts = [sum(mixes[digest] > 1 for digest in mine) for mine in tests.values()]
    if competition.track == "ood" and any(counts):
        sets = f"{np.count_nonzero(counts)} of {len(counts)} test mixes"
        text = f"{max(counts)} images of a mix and fewer, in {sets}, stand in other test mixes too"
        yield "error", f"{text}, which tells IND images from OOD images: build again"


def _hashes(competition: Competition, file: str) -> frozenset[bytes]:
    """Returns the hashes of a file's images, without those of a single colour: any image can become these."""
    images = read_npz(competition.file(file))
    varied = (images.images != images.images[:, :1, :1]).any(axis=(1, 2, 3))
    return frozenset(images.take(np.flatnonzero(varied)).hashes()) if varied.any() else frozenset()


def shared_patches(competition: Competition) -> Iterator[Finding]:
    """Yield mixes with OOD images that share patches with those of another mix: parts of one photograph."""
    frames = [
        pd.DataFrame({"mix": name, "image": number, "patch": _patches(image)})
        for name, images, is_ood in _mixes(competition)
        for number, image in enumerate(images[is_ood])
    ]
    if frames:
        patches = pd.concat(frames)
        shared = patches[patches.groupby("patch")["mix"].transform("nunique") > 1]
        counts = shared.groupby(["mix", "image"]).size()
        for name, count in counts[counts >= SHARED].groupby("mix").size().items():
            text = f"{count} OOD images of test mix {name} share {PATCH} x {PATCH} pixels with another mix's"
            yield "warning", f"{text}, which tells them from IND images: take images of other scenes"


def _patches(image: Pixels) -> NDArray[np.uint64]:
    """Returns hashes of the patches of several colours of an image (h, w, 3), in large images of a share."""
    rng = AUDIT(0)
    colour, down, right = (rng.integers(2**64, size=n, dtype=np.uint64) for n in (3, PATCH, PATCH))
    keys = sliding_window_view(image @ colour, PATCH, axis=0) @ down
    keys = sliding_window_view(keys, PATCH, axis=1) @ right
    chosen = keys % max(1, keys.size // PATCHES) == 0
    windows = sliding_window_view(image, (PATCH, PATCH), axis=(0, 1))[chosen]
    return np.unique(keys[chosen][np.ptp(windows, axis=(1, 2, 3)) > CONTRAST])


def telling_statistics(competition: Competition) -> Iterator[Finding]:
    """Yield cheap statistics of single images that tell the OOD images of the test mixes from IND images."""
    frames = [pd.DataFrame(map(_statistics, images), is_ood) for _, images, is_ood in _mixes(competition)]
    for name, values in pd.concat(frames).items() if frames else ():
        auc = auroc(values[~values.index].to_numpy(), values[values.index].to_numpy())
        if (auc := max(auc, 1 - auc)) > TELLING:
            text = f"{name} alone tells OOD images of the test mixes from IND images (AUC {auc:.3f})"
            yield "warning", f"{text}: give both the same formats, compression and colours"


def _statistics(image: Pixels) -> dict[str, float]:
    """Returns the statistics of an image (h, w, 3) by name."""
    wide = image.astype(np.int64)
    bgr = image[..., ::-1].copy()
    steps = np.abs(np.diff(wide, axis=1)).mean(axis=(0, 2))
    ghosts = {}
    for quality in QUALITIES:
        encoded = cv2.imencode(".jpg", bgr, (cv2.IMWRITE_JPEG_QUALITY, quality))[1]
        again = np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR), np.int64)
        ghosts[f"change by JPEG at quality {quality}"] = float(((again - bgr) ** 2).mean())
    return ghosts | {
        "blockiness": float(steps[7::8].mean() - steps.mean()),
        "greyness": -float((wide.max(axis=2) - wide.min(axis=2)).mean()),
        "number of colours": float(len(np.unique(wide @ (1, 256, 65536)))),
        "size in zlib": float(len(zlib.compress(image.tobytes(), 1))),
    }


def _mixes(competition: Competition) -> Iterator[tuple[str, Pixels, BoolArray]]:
    """Yield name, images (n, h, w, 3) and OOD labels (n,) of each test mix; none in the accuracy track."""
    if competition.track == "ood":
        for test in read_record(competition.root).get("test", ()):
            mix = Mix.from_json(test["recipe"])
            images = read_npz(competition.file(f"test/{mix.name}.npz")).images
            yield mix.name, images, mix.rows(mix.ind, mix.ood)[1]


def computed_by(competition: Competition) -> Iterator[Finding]:
    """Yield what computed the logits, and how far others may be, where it was not PyTorch in IEEE's form."""
    rounded = competition.precision == "float32" and competition.settings.get("float32") == "TF32"
    if rounded or competition.engine != "torch":
        computes = "TF32" if rounded else competition.computes
        differ = may_differ("float16" if rounded else competition.precision)  # whose mantissa TF32 has
        yield "note", f"logits in {computes}; where something else computes them, {differ}"


def near_chance(competition: Competition, device: str = "cpu") -> Iterator[str]:
    """Yield classifiers near chance on the labelled reference images; their observations are cached."""
    sets = PublicSets(competition)
    chance = 1 / len(competition.classes)
    for name in competition.classifiers:
        seen = read(sets.find("source", "reference"), open_observer(sets, name, (), device))
        accuracy = float((seen.predicted == sets.reference.labels).mean())
        if accuracy < chance + SKILL * (1 - chance):
            yield (
                f"classifier {name} is right on {100 * accuracy:.0f} % of the labelled reference images, and "
                f"guessing on {100 * chance:.0f} %: there is little to predict; train it longer"
            )


def narrow_truths(competition: Competition) -> Iterator[str]:
    """Yield subjects whose true values vary little more than by sampling noise."""
    targets = Targets.of_solution(competition, whole_solution(competition))
    found = []
    for subject in competition.subjects:
        truths = targets.of_subject(subject)
        spread = 100 * float(np.std(truths.values))
        noise = truths.noise_floor
        if len(truths) > 1 and spread < SPREAD * noise:
            found.append(f"{subject} (they spread by {spread:.1f} points, noise is {noise:.1f})")
    if found:
        yield (
            f"the true values of the test sets hardly differ by more than their sampling noise for "
            f"{', '.join(found)}: ranks would follow the noise; {VARIED[competition.track]}, so that "
            f"the spread is at least {SPREAD:g} times the noise"
        )


def few_sets(competition: Competition) -> Iterator[str]:
    """Yield numbers of public sets, and of private families, on which a rank is an accident."""
    rows = solution_of(competition)
    public = {row.set for row in rows if row.usage == "Public"}
    private = Targets.of_solution(competition, [row for row in rows if row.usage == "Private"])
    yield from few(len(public), len(private.families), competition.visibility == "hidden")


def few(sets: int, families: int, hidden: bool) -> Iterator[str]:
    """Yield what so few public sets, and private families (each in a group), make an accident."""
    if sets < FEW:
        meaning = "there are no scores before the end" if hidden else "the public order is an accident"
        yield f"public sets: {sets}, fewer than {FEW}: {meaning}; build with more test sets"
    if 0 < families < INTERVAL_FAMILIES:
        yield (
            f"families of shift of the test sets that decide the final ranks: {families}, fewer than "
            f"{INTERVAL_FAMILIES}: scores have no interval; build with more test sets or kinds of shift"
        )


def one_source(competition: Competition) -> Iterator[str]:
    """Yield a collection that all natural test sets come from."""
    tests = read_record(competition.root).get("test", ())
    tests = [test for test in tests if str(test.get("group")).startswith("natural")]
    if len(tests) > 1 and len(families := {test["family"] for test in tests}) == 1:
        yield (
            f"all {len(tests)} natural test sets come from one collection, {families.pop()}: the ranks may "
            "hold for that collection alone; add sets of another (--test-from)"
        )


def too_many_decimals(competition: Competition) -> Iterator[str]:
    """Yield a warning if every score is published with more digits than so few rows can determine."""
    rows = sum(row.usage == "Public" for row in solution_of(competition))
    error = constant_error(competition) / math.sqrt(2 * rows) if rows else 0.0
    if not error:
        return
    allowed = max(0, math.floor(-math.log10(DIGIT * error)))
    if competition.decimals > allowed:
        yield (
            f"scores are published with {competition.decimals} decimals, and their standard error is about "
            f"{error:.1f} points: such steps tell labels and rank nobody; build with --decimals {allowed}"
        )


LEAKS = (practice, permissions, seed, strays, equal_pixels, shared_patches, telling_statistics, computed_by)
"""What could reveal a hidden label."""
ACCIDENTS = narrow_truths, few_sets, one_source, too_many_decimals
"""Why ranks may be accidents, besides `near_chance`."""
