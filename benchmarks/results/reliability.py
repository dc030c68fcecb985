"""Is an image of some entropy right as often in new sets as in the meta-train sets? SYP's oracles rest on it.

    python benchmarks/results/reliability.py DIR

DIR is a competition with validation sets. For each classifier and group of sets a line of Markdown: the
accuracy; the one that there would be if images were right as often as meta-train images of their entropy, and
what the latter is less the former; and the sets' Frechet distances, and how many of them lie outside the
meta-train sets', where SYP's scaling clamps them. All but the distances in percent and points.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from baselines.accuracy.entropy import entropies
from baselines.accuracy.fd import fd
from starter.images.arrays import read_npz
from starter.observing import Observation
from starter.tracks.accuracy.observe import ClassifierSubject
from starter.tracks.sets import PublicSets
from submission import Competition
from submission.scoretable import validation_groups

BINS = 20
"""Of equal counts of meta-train images, by entropy."""
HEADER = "| classifier, group | accuracy | by entropy | error | FD | outside |\n| --- " + "| ---: " * 5 + "|"

Correct = NDArray[np.bool_]


class Reliability:
    """How often meta-train images of an entropy are right."""

    def __init__(self, sets: Sequence[Observation], correct: Sequence[Correct]) -> None:
        entropy = np.concatenate([entropies(each) for each in sets])
        self.edges = np.quantile(entropy, np.linspace(0, 1, BINS + 1)[1:-1])
        rows = np.searchsorted(self.edges, entropy)
        self.right = np.bincount(rows, np.concatenate(correct)) / np.bincount(rows)

    def expected(self, sets: Sequence[Observation]) -> float:
        """The accuracy of all the sets' images if they were like meta-train images of their entropy."""
        entropy = np.concatenate([entropies(each) for each in sets])
        return float(self.right[np.searchsorted(self.edges, entropy)].mean())


def lines(competition: Competition, name: str) -> list[str]:
    """A line for the meta-train sets and one for each group of validation sets."""
    subject = ClassifierSubject.open(PublicSets(competition), name, ("moments",))
    meta, observed = subject.meta_train(), list(subject.observations("val"))
    reliability = Reliability(meta.sets, meta.correct)
    distances = {each.set_name: fd(each, meta.source) for each in (*meta.sets, *observed)}
    known = [distances[each.set_name] for each in meta.sets]

    def line(group: str, sets: Sequence[Observation], correct: Sequence[Correct]) -> str:
        found = [distances[each.set_name] for each in sets]
        out = sum(not min(known) <= each <= max(known) for each in found)
        accuracy, expected = 100 * np.concatenate(correct).mean(), 100 * reliability.expected(sets)
        return (
            f"| {name}, {group} | {accuracy:.1f} | {expected:.1f} | {expected - accuracy:+.1f} "
            f"| {min(found):.1f} to {max(found):.1f} | {out} of {len(found)} |"
        )

    shown = [line("meta-train", meta.sets, meta.correct)]
    groups = validation_groups(competition)
    for group in dict.fromkeys(group for group, _ in groups.values()):
        sets = [each for each in observed if groups[each.set_name][0] == group]
        shown.append(line(group, sets, [right(competition, each) for each in sets]))
    return shown


def right(competition: Competition, observation: Observation) -> Correct:
    """Which images of a validation set the classifier is right about, bool (n,)."""
    path = competition.file(f"val/{observation.set_name}.npz")
    return observation.predicted == read_npz(path, observation.set_name).labels


def main() -> None:
    """Print the table."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    competition = Competition.open(parser.parse_args().folder)
    print(HEADER)
    for name in competition.subjects:
        print("\n".join(lines(competition, name)))


if __name__ == "__main__":
    main()
