"""What each corruption does to ResNet-56 on real CIFAR-10 test images: accuracy at severities 1 to 5.

    UNSEEN_DATA=FOLDER python benchmarks/results/corruptions.py [--images 2000] [--precision bfloat16]

FOLDER holds cifar10.zip (test/<class>/) and weights/resnet56.safetensors. Wanted: accuracy at severity 5
below that at severity 1 for at least 18 of the 19 corruptions, and Spearman's correlation of severity and
accuracy at most -.8 for at least 15.
"""

import argparse

import numpy as np
import real
from scipy.stats import spearmanr

from starter.classifiers import Classifier
from starter.images.imageset import ImageSet
from starter.operations.corruptions import CORRUPTIONS
from starter.sets.recipe import Recipe

SEVERITIES = (1, 2, 3, 4, 5)


def accuracy(classifier: Classifier, recipe: Recipe, base: ImageSet) -> float:
    """Of the classifier on the set that the recipe makes, all images of the base in their order."""
    predicted = [classifier(chunk)[0].argmax(1).numpy() for chunk in recipe.chunks(base)]
    return float(np.mean(np.concatenate(predicted) == base.labels))


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="bfloat16")
    options = parser.parse_args()
    classifier = real.classifier(precision=options.precision)
    base = real.images("test", options.images)
    clean = accuracy(classifier, Recipe("clean", 0, ()), base)
    print(f"{len(base)} images, clean {100 * clean:.1f} %\n")
    print(f"{'':20}{''.join(f'{severity:>7}' for severity in SEVERITIES)}   Spearman")
    falls = ranked = 0
    for name in CORRUPTIONS:
        recipes = [Recipe(name, 0, ((name, {"severity": severity}),)) for severity in SEVERITIES]
        found = [accuracy(classifier, recipe, base) for recipe in recipes]
        correlation = spearmanr(SEVERITIES, found).statistic
        falls += found[-1] < found[0]
        ranked += correlation <= -0.8
        print(f"{name:20}{''.join(f'{100 * value:7.1f}' for value in found)}{correlation:11.2f}", flush=True)
    print(f"\nseverity 5 below severity 1: {falls} of {len(CORRUPTIONS)} (18 wanted)")
    print(f"Spearman at most -.8: {ranked} of {len(CORRUPTIONS)} (15 wanted)")


if __name__ == "__main__":
    main()
