"""A competition of ImageNet's size, from images to predictions: 1,000 classes, 224 pixels, time and memory.

    OMP_NUM_THREADS=1 python benchmarks/speed/imagenet.py DIR [--net torchvision:resnet18] [--write]

Makes in DIR, unless they are there: JPEG files of procedural pictures (a texture of colours for each class,
moved, lit and covered by others in each picture; 1 to train and 10 to test a class), and weights of the
network: random ones, whose last layer is the nearest class mean of the training pictures' features. Then
`unseen build` and `unseen predict` with every method that reads what the build has observed, each in a
process of its own. --features adds the methods that read features, for which each image is looked at again.
Printed: processor time beside that of bare forward passes of as many images, and the most memory. What ran is
kept in DIR, and is not run again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file

import unseen
from baselines import BASELINES
from starter.classifiers import Classifier, Spec, load_classifier, new_network
from starter.observing.observation import unmet
from starter.tracks.tracks import TRACKS
from submission import Competition
from submission.files import replacing, write_text

SIDE, GRID = 224, 7
"""Pixels of a side, and coloured patches of a texture's side."""
TEST = 10
"""Test pictures of a class, the fewest that the kit divides."""
BATCH = 50


def picture(label: int, number: int) -> NDArray[np.uint8]:
    """One picture of a class, uint8 (h, w, 3)."""
    texture = np.random.default_rng([0, label]).integers(256, size=(GRID, GRID, 3)).astype(np.float32)
    rng = np.random.default_rng([1, label, number])
    other = rng.integers(256, size=(2 * GRID, 2 * GRID, 3)).astype(np.float32)
    own = cv2.resize(np.roll(texture, rng.integers(2, size=2), axis=(0, 1)), (SIDE, SIDE))
    cover = cv2.resize(other, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
    share = rng.uniform(0, 0.3)
    light = rng.uniform(0.9, 1.1) * ((1 - share) * own + share * cover)
    return (light + rng.normal(0, 4, light.shape)).clip(0, 255).astype(np.uint8)


def draw(folder: Path, classes: int) -> None:
    """Write the source's pictures, those that are not there yet."""
    for label in range(classes):
        for part, numbers in (("train", (0,)), ("test", range(1, TEST + 1))):
            where = folder / part / f"class {label:04d}"
            where.mkdir(parents=True, exist_ok=True)
            for number in numbers:
                path = where / f"{number}.jpg"
                if not path.exists():
                    with replacing(path) as temporary:
                        quality = [cv2.IMWRITE_JPEG_QUALITY, 90]
                        _, data = cv2.imencode(".jpg", picture(label, number)[..., ::-1], quality)
                        temporary.write_bytes(data.tobytes())


def train(net: str, classes: int, path: Path) -> None:
    """Write the network's weights, whose last layer knows the classes' means of one training picture each."""
    torch.manual_seed(0)
    names = tuple(f"class {label:04d}" for label in range(classes))
    network = new_network(net, classes)
    mean, std = network.triple("mean"), network.triple("std")
    classifier = Classifier("untrained", net, network, names, mean, std)
    found = []
    for start in range(0, classes, BATCH):
        rows = np.stack([picture(label, 0) for label in range(start, min(start + BATCH, classes))])
        found.append(classifier(rows)[1])
    features = torch.cat(found)
    centred = (features - features.mean(dim=0)) / features.std(dim=0).clamp(min=1e-6)
    scale = 10 / centred.square().sum(dim=1).mean()
    weight = scale * centred / features.std(dim=0).clamp(min=1e-6)
    bias = -weight @ features.mean(dim=0) - scale * centred.square().sum(dim=1) / 2
    network.head.weight.data, network.head.bias.data = weight, bias
    with replacing(path) as temporary:
        save_file(network.state_dict(), temporary)


def measured(*words: object) -> dict[str, float]:
    """Run `unseen` in a process: its seconds of wall and processor time, and GB at most."""
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "unseen", *map(str, words)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"unseen {words[0]} failed")
    wall, cpu = time.perf_counter() - start, used.ru_utime + used.ru_stime
    return {"wall": wall, "cpu": cpu, "memory": used.ru_maxrss / 1e6}


def once(path: Path, *words: object) -> dict[str, float]:
    """As `measured`, kept in a file; nothing is run again where that is there."""
    if not path.exists():
        write_text(path, json.dumps(measured(*words)) + "\n")
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def bare(classifier: Classifier, images: int = 4 * BATCH) -> float:
    """Seconds of processor time of one forward pass an image."""
    shown = np.random.default_rng(0).integers(256, size=(BATCH, SIDE, SIDE, 3), dtype=np.uint8)
    classifier(shown)
    start = time.process_time()
    for _ in range(0, images, BATCH):
        classifier(shown)
    return (time.process_time() - start) / images


def cheap(competition: Competition, features: bool) -> list[str]:
    """The methods that read what a build observes, or features besides."""
    read = {*TRACKS["accuracy"].needs, *(["features"] if features else [])}
    dear = unseen.methods().only_by_name
    return [
        name
        for name, method in BASELINES.items()
        if set(method.needs) <= read and not dear[name] and not unmet(method.needs, competition)
    ]


def rows(
    folder: Path, net: str, classes: int, sets: Sequence[int], size: int, features: bool
) -> list[dict[str, object]]:
    """Build and predict, and what each took."""
    name = Spec.parse(net).name
    source, weights, contest = folder / "pictures", folder / f"{name}.safetensors", folder / f"{name}-contest"
    draw(source, classes)
    if not weights.exists():
        train(net, classes, weights)
    counts = zip(("--train-sets", "--val-sets", "--test-sets"), sets, strict=True)
    options = [word for pair in counts for word in pair]
    spec = f"{net}={weights}"
    built = once(
        folder / f"{name}-build.json",
        *("build", contest, "--source", source, "--classifier", spec, "--set-size", size, *options),
    )
    competition = Competition.open(contest)
    names, more = cheap(competition, False), cheap(competition, True)
    predicted = once(folder / f"{name}-predict.json", "predict", contest, *names)
    classifier = load_classifier(spec, competition.classes, size=(SIDE, SIDE))
    d = classifier.head_weight.shape[1]
    seconds, number = bare(classifier), sum(sets)
    looked = number * size + sum(
        len(np.load(contest / f"public/{part}.npz")["images"]) for part in ("reference", "train_ref")
    )
    images = sum(1 for path in source.rglob("*") if path.is_file())
    disk = sum(path.stat().st_size for path in contest.rglob("*") if path.is_file()) / 1e9
    shape = f"{net}, {classes:,} classes, {d:,} features, {number} sets of {size:,}"
    forward = seconds * size
    found = [
        {"what": shape, "figure": f"{1 / seconds:.1f} images/s of a core, {forward:.1f} s a set"},
        {
            "what": "build: read the source, draw, observe sets and reference images, write",
            "figure": f"{built['cpu'] / looked / seconds:.2f} of bare forward passes; "
            f"{built['memory']:.1f} GB at most, of which the source's {images:,} images are "
            f"{3 * images * SIDE**2 / 1e9:.1f}; {disk:.1f} GB of disk",
        },
        {
            "what": f"predict, {len(names)} methods that read what was observed, start and fits included",
            "figure": f"{predicted['cpu']:.0f} s for {number} sets; {predicted['memory']:.1f} GB at most",
        },
    ]
    if features:
        looking = once(folder / f"{name}-features.json", "predict", contest, *more)
        figure = f"{looking['cpu'] / looked / seconds:.2f} of bare forward passes"
        what = f"predict, {len(more)} methods, features observed besides"
        found.append({"what": what, "figure": f"{figure}; {looking['memory']:.1f} GB at most"})
    return found


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--net", default="torchvision:resnet18")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--sets", type=int, nargs=3, default=(4, 1, 3), metavar=("TRAIN", "VAL", "TEST"))
    parser.add_argument("--set-size", type=int, default=500)
    parser.add_argument("--features", action="store_true", help="run the methods that read features too")
    parser.add_argument("--write", action="store_true", help="into docs/results/data")
    options = parser.parse_args()
    found = rows(
        options.folder, options.net, options.classes, options.sets, options.set_size, options.features
    )
    for row in found:
        print(f"{row['what']}: {row['figure']}", flush=True)
    if options.write:
        sys.path.insert(0, str(Path(__file__).parents[1] / "results"))
        from pages import record

        counts = " ".join(map(str, options.sets))
        command = (
            f"OMP_NUM_THREADS=1 python benchmarks/speed/imagenet.py DIR --net {options.net} --sets {counts} "
            f"--set-size {options.set_size}"
        )
        record("speed-imagenet", found, command=command)


if __name__ == "__main__":
    main()
