"""Seconds that every baseline takes to fit on and to predict sets that were observed before.

    python benchmarks/speed/methods.py DIR [--sets 200] [--size 1000]

Builds a competition of the embedded data in DIR, unless there is one, and observes its sets with all that any
baseline reads. Then, per baseline: the time to fit on the meta-train sets and to predict as many (the same)
sets, all read from the cache. Left out: `projnorm`, which trains a network a set, and what needs a second
classifier.
"""

import argparse
import time
from pathlib import Path

from sklearn.base import clone

from baselines import BASELINES
from starter.making.build import build
from starter.observing.observation import unmet
from starter.tracks.accuracy.observe import ClassifierSubject
from starter.tracks.accuracy.settings import AccuracySettings
from starter.tracks.sets import PublicSets


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--size", type=int, default=1000)
    options = parser.parse_args()
    sizes = {"train_sets": options.sets, "val_sets": 0, "test_sets": 2, "set_size": options.size}
    competition = build(options.folder, AccuracySettings(**sizes), test_seed=1)  # type: ignore[arg-type]
    methods = {
        name: method
        for name, method in BASELINES.items()
        if name != "projnorm" and not unmet(method.needs, competition)
    }
    needs = tuple(sorted({need for method in methods.values() for need in method.needs}))
    subject = ClassifierSubject.open(PublicSets(competition), competition.subjects[0], needs)
    meta = subject.meta_train()
    for observation in meta.sets:
        len(observation)
    taken = {}
    for name, method in methods.items():
        start = time.perf_counter()
        clone(method).fit(meta).predict(meta.sets)
        taken[name] = time.perf_counter() - start
        print(f"{name:<12} {taken[name]:6.2f} s", flush=True)
    print(f"all {len(taken)}      {sum(taken.values()):6.2f} s, {len(meta.sets)} sets of {options.size:,}")


if __name__ == "__main__":
    main()
