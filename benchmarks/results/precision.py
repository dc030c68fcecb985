"""How far an engine and a precision move every set-level indicator, in its own standard deviations over sets.

    UNSEEN_DATA=FOLDER python benchmarks/results/precision.py [--arch resnet56] [--sets 20] [--size 1000]
        [--engine openvino] [--precision bfloat16]

FOLDER holds cifar10.zip and weights/<arch>.safetensors. Sets are those of the default group on real CIFAR-10
test images. Printed, per method that regresses on one indicator or is one: the largest and the root mean
square difference from PyTorch's float32, as a share of the indicator's standard deviation over the sets.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import real

from baselines import BASELINES, Direct
from starter.classifiers import load_classifier
from starter.images.imageset import ImageSet
from starter.observing import Source
from starter.observing.cache import Cache
from starter.observing.observe import Observer, observe_all
from starter.sets.recipe import draw_recipes
from starter.sets.rendering import FromRecipe
from starter.sources.sources import load_source
from starter.sources.splits import Splits
from submission.competition import ENGINES, PRECISIONS

NEEDS = ("moments", "features")


def indicators(
    splits: Splits, spec: str, engine: str, precision: str, renderings: list[FromRecipe], cache: Path
) -> dict[str, list[float]]:
    """The value of every indicator on every set."""
    classifier = load_classifier(spec, splits.classes, precision, engine=engine)
    if classifier.place not in ("cpu", f"cpu {engine} {precision}"):
        raise SystemExit(f"this CPU computes otherwise: {classifier.place}")
    observer = Observer(classifier, Cache(cache))
    reference, train = splits.reference.take(np.arange(1000)), splits.train.images[::25]
    known = (ImageSet("reference", reference.images), ImageSet("train", train))
    observed = observe_all([*map(FromRecipe.whole, known), *renderings], observer, NEEDS)
    assert reference.labels is not None
    head = classifier.head_weight, classifier.head_bias
    source = Source(observed[0], reference.labels, observed[1], *head)
    methods = {
        name: method
        for name, method in BASELINES.items()
        if isinstance(method, Direct) and set(method.needs) <= set(NEEDS)
    }
    return {
        name: [method.indicator(observed[i], source) for i in range(2, len(observed))]
        for name, method in methods.items()
    }


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--arch", default="resnet56")
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--engine", choices=ENGINES, default="openvino")
    parser.add_argument("--precision", choices=PRECISIONS, default="float32")
    options = parser.parse_args()
    splits = load_source(str(real.data() / "cifar10.zip"))
    recipes = draw_recipes("default", options.sets, 0, options.size)
    renderings = [FromRecipe(recipe, splits.meta_base) for recipe in recipes]
    spec = real.weights(options.arch)
    with tempfile.TemporaryDirectory() as folder:
        exact, fast = (
            indicators(splits, spec, engine, precision, renderings, Path(folder))
            for engine, precision in (("torch", "float32"), (options.engine, options.precision))
        )
    print(f"{'method':<12}   largest       rms   of the standard deviation over {options.sets} sets")
    for name, values in exact.items():
        moved = (np.array(fast[name]) - values) / np.std(values)
        print(f"{name:<12} {100 * np.abs(moved).max():8.2f} % {100 * np.sqrt((moved**2).mean()):8.2f} %")


if __name__ == "__main__":
    main()
