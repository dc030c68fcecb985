"""The picture of docs/results/unseen-best.md: what unseen-best makes of a natural set and of a corrupted one.

    UNSEEN_DATA=FOLDER python benchmarks/results/unseen_best_picture.py DIR FILE [--classifier repvgg_a0]

DIR is a competition that unseen_best.py here has built with `wide` meta-train sets. Shown are a natural
validation set and the hardest meta-train set of group b, by regressions that have not learnt from that
group.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from baselines.contract.families import subset
from oracle import UnseenBest
from oracle.evidence import BOTH, OWN, agreement
from oracle.unseen_best import chances
from starter.images.arrays import read_npz
from starter.observing.observation import Observation
from starter.tracks.accuracy.observe import ClassifierSubject
from starter.tracks.sets import PublicSets
from submission import Competition
from submission.arrays import FloatArray


def draw(axes: Axes, method: UnseenBest, seen: Observation, truth: float, title: str) -> None:
    """One set: its images' probabilities of being right by the regressions, and what is made of them."""
    table, judge = method.evidence_.table(seen), method.judge_
    with_referee = [chances(each, table[:, of]) for each, of in zip(judge.both, BOTH, strict=True)]
    opinions: dict[str, FloatArray] = {
        "classifier alone": chances(judge.own, table[:, OWN]),
        "with the referee": np.mean(with_referee, axis=0),
    }
    for name, p in opinions.items():
        axes.hist(p, bins=20, range=(0, 1), alpha=0.5, label=f"{name}: {100 * p.mean():.1f}")
    lines = {
        "agreement": (agreement(table), ":"),
        "estimate": (judge.accuracy(table), "--"),
        "truth": (truth, "-"),
    }
    for name, (value, style) in lines.items():
        axes.axvline(value, color="black", linestyle=style, label=f"{name}: {100 * value:.1f}")
    axes.set_title(title)
    axes.set_xlabel("probability that the classifier is right about an image")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3)


def main() -> None:
    """Fit twice, draw."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--classifier", default="resnet56")
    given = parser.parse_args()
    sets = PublicSets(Competition.open(given.folder))
    subject = ClassifierSubject.open(sets, given.classifier, ("referee", "rotations"))
    meta = subject.meta_train(False)
    groups = np.array([seen.set_name.partition("_")[0] for seen in meta.sets])
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), sharey=False)
    rendering, seen = sets.stored("val")[0], subject.observations("val", False)[0]
    whole = UnseenBest().fit(meta)
    truth = float((seen.predicted == read_npz(rendering.path).labels).mean())
    draw(left, whole, seen, truth, "natural: photographs of other sources")
    others = UnseenBest().fit(subset(meta, np.flatnonzero(groups != "b")))
    of_b = np.flatnonzero(groups == "b")
    hardest = int(of_b[np.argmin(meta.targets[of_b])])
    made_of = ", ".join(sorted(meta.families[hardest]))
    draw(right, others, meta.sets[hardest], float(meta.targets[hardest]), f"distorted: {made_of}")
    figure.tight_layout()
    figure.savefig(given.file, dpi=110)


if __name__ == "__main__":
    main()
