"""A flipped bit in each entry of a competition's cache: predictions and a finished build stay the same.

python benchmarks/attacks/cache.py

For each track a method predicts that depends on every bit of all that can be observed. Then, kind by kind of
the cache's entries, one bit of each is flipped; the method predicts again, and the build, its last file
removed, is finished again. What they write must have the bytes of before. Exit code 1 otherwise.
"""

import hashlib
import random
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np

import unseen
from starter.observing.observation import NEEDS, MetaTrain
from submission.competition import DESCRIPTION

SIZES = {"train_sets": 8, "val_sets": 2, "test_sets": 4, "set_size": 40}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "accuracy": {**SIZES, "referees": ("embedded",)},
    "ood": {**SIZES, "detectors": ("msp", "mahalanobis"), "ood": "ood"},
}
BUILT = ("public/**/*.*", "private/solution.csv", "private/noise.csv")
PREDICTED = ("submissions/*.csv", "validation/*.csv")


class Everything(unseen.Estimator):
    """Predicts a fraction that every bit of the meta-train sets, the reference and the set decides."""

    wants = tuple(need for need in NEEDS if need != "peers")

    def _fit(self, meta: MetaTrain) -> None:
        seen = [*meta.sets, meta.source.observation, meta.source.train_ref]
        self.learnt_ = b"".join(map(bits, seen))

    def _predict(self, seen: Any) -> float:
        digest = hashlib.sha256(self.learnt_ + bits(seen)).digest()
        return int.from_bytes(digest[:4], "big") / 2**32


def bits(seen: Any) -> bytes:
    """Returns a digest of all arrays of an observation or a scored mix."""
    observed = getattr(seen, "observation", seen)
    names = ("logits", "features", "image_stats", "rotation", "referee_features")
    arrays = [getattr(observed, name) for name in names]
    arrays += [observed.views[each] for each in sorted(observed.views)]
    arrays += [observed.moments.mean, observed.moments.covariance] if observed.moments else []
    arrays.append(getattr(seen, "scores", None))
    digest = hashlib.sha256()
    for array in (array for array in arrays if array is not None):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def written(root: Path, patterns: tuple[str, ...]) -> dict[str, bytes]:
    """Returns the bytes of the files of these patterns by their names."""
    paths = (path for pattern in patterns for path in root.glob(pattern))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths if path.is_file()}


def predicted(contest: unseen.Contest) -> dict[str, bytes]:
    """Returns the predictions of the method that reads everything."""
    unseen.predict(contest, {"all": Everything()})
    return written(contest.root, PREDICTED)


def flip(path: Path, draw: random.Random) -> None:
    """Flip one bit of a file."""
    data = bytearray(path.read_bytes())
    place = draw.randrange(8 * len(data))
    data[place // 8] ^= 1 << place % 8
    path.write_bytes(data)


def write_noise(folder: Path) -> None:
    """Write five families of small images, the noisier the further they stand in the alphabet."""
    rng = np.random.default_rng(0)
    for number, name in enumerate("abcde", 1):
        (folder / name).mkdir(parents=True)
        for i in range(240):
            image = rng.normal(128, 12 * number, (32, 32, 3)).clip(0, 255).astype(np.uint8)
            cv2.imwrite(str(folder / name / f"{i:03d}.png"), image)


def attacked(track: str, folder: Path, draw: random.Random) -> bool:
    """Returns True if nothing changes, whichever entries are flipped."""
    if track == "ood":
        write_noise(folder / "ood")
    settings = {**SETTINGS[track], **({"ood": str(folder / "ood")} if track == "ood" else {})}

    def build() -> unseen.Contest:
        return unseen.build(folder / "contest", settings=settings, track=track, test_seed=1)

    contest = build()
    root, same = contest.root, True
    predictions, files = predicted(contest), written(root, BUILT)
    whole = shutil.copytree(root / "cache", folder / "whole")
    for kind in sorted(path.name for path in whole.iterdir()):
        entries = sorted((root / "cache" / kind).iterdir())
        for path in entries:
            flip(path, draw)
        again = predicted(contest)
        for path in entries:
            flip(path, draw)
        (root / DESCRIPTION).unlink()
        build()
        results = again == predictions, written(root, BUILT) == files
        words = ["the same" if each else "OTHER" for each in results]
        print(f"{track:<8} {kind:<17} {len(entries):>3} entries: predictions {words[0]}, build {words[1]}")
        same = same and all(results)
        shutil.rmtree(root / "cache")
        shutil.copytree(whole, root / "cache")
    return same


def main() -> None:
    draw, same = random.Random(0), []
    for track in SETTINGS:
        with tempfile.TemporaryDirectory() as folder:
            same.append(attacked(track, Path(folder), draw))
    sys.exit(not all(same))


if __name__ == "__main__":
    main()
