"""What two attacks on the hidden labels gain from each kind of feedback, and one from published intervals.

python benchmarks/attacks/probing.py [--runs 20]

One row at a time: 200 labels, a flat submission of 60, and 200 more with one prediction set to 100 each; the
change of the score gives its label. Printed is the RMSE of the labels found, in points; a label that nothing
is heard of is taken to be the mean of the others, or 60. The same from the width of the bootstrap interval,
which gives the variance of the squared errors, the score being known to 2 decimals.
Hill climbing: 100 submissions, 60 public and 140 private labels; noise is added to the best one so far, and
kept where the feedback is better. Printed are the public and the private RMSE of the last one kept.
Labels are made up, uniform from 20 to 100, and the climber starts 5.9 points off; means over the runs.
"""

import argparse
from collections.abc import Callable

import numpy as np

from leaderboard.board.feedback import ladder
from leaderboard.board.statistics import Families, uncertainty
from submission.arrays import FloatArray

Feedback = Callable[[FloatArray], float]
"""The errors (n,) of a submission -> what the team hears, in points; the Ladder's depends on those before."""
LABELS, PUBLIC, CLIMBS = 200, 60, 100
BASE, PROBE = 60.0, 100.0
START, STEP = 5.9, 2.0
"""How far the climber is off at first, and the standard deviation of its noise, in points."""


def rmse(errors: FloatArray) -> FloatArray:
    """Over the last axis."""
    return np.sqrt(np.mean(errors**2, axis=-1))


def rows_as_families(count: int) -> Families:
    """Every row by itself."""
    return Families(np.arange(count), np.zeros(count, dtype=np.int64))


def rounded(decimals: int) -> Feedback:
    """The score of every submission."""
    return lambda errors: round(float(rmse(errors)), decimals)


def by_ladder(decimals: int) -> Feedback:
    """The score of the submission that stands by the Ladder."""
    best: list[FloatArray] = []

    def heard(errors: FloatArray) -> float:
        pair = [(best or [errors])[0] ** 2, errors**2]
        means = [float(each.mean()) for each in pair]
        if not best or ladder(means, lambda place: pair[place], rows_as_families(len(errors)))[-1]:
            best[:] = [errors]
        return round(float(rmse(best[0])), decimals)

    return heard


MODES: dict[str, Callable[[], Feedback]] = {
    "full precision (not a mode)": lambda: rounded(15),
    "rounded, 4 decimals": lambda: rounded(4),
    "rounded, 3 decimals": lambda: rounded(3),
    "rounded, 2 decimals": lambda: rounded(2),
    "rounded, 1 decimal": lambda: rounded(1),
    "ladder, 2 decimals": lambda: by_ladder(2),
}


def probes(labels: FloatArray) -> FloatArray:
    """The errors of the flat submission and of those with one row changed (1 + n, n)."""
    flat = np.full((1, len(labels)), BASE)
    changed = np.where(np.eye(len(labels)) > 0, PROBE, flat)
    return np.concatenate([flat, changed]) - labels


def missed(found: FloatArray, labels: FloatArray) -> float:
    """The RMSE of the labels found (n,), nan where nothing was."""
    known = np.isfinite(found)
    rest = float(np.mean(found[known])) if known.any() else BASE
    return float(rmse(np.where(known, np.clip(found, 0, 100), rest) - labels))


def one_row_at_a_time(labels: FloatArray, feedback: Feedback, silent: bool) -> float:
    """The RMSE of the labels that scores give away; where feedback may be silent, no change says nothing."""
    first, *heard = [feedback(errors) for errors in probes(labels)]
    change = len(labels) * (np.array(heard) ** 2 - first**2)
    found = (PROBE**2 - BASE**2 - change) / (2 * (PROBE - BASE))
    return missed(np.where((np.array(heard) == first) & silent, np.nan, found), labels)


def from_intervals(labels: FloatArray, decimals: int | None) -> float:
    """The RMSE of the labels that intervals give away, widened as published; None for full precision."""
    errors, count = probes(labels), len(labels)
    known = uncertainty(errors**2, rows_as_families(count), np.zeros(1 + count, dtype=bool), 2)
    assert known is not None
    low, high = known.low, known.high
    if decimals is not None:
        step = 10.0 ** (1 - decimals)
        low, high = np.floor(low / step) * step, np.ceil(high / step) * step
    score = np.round(rmse(errors), 2)
    spread = ((high - low) / 3.92 * 2 * score) ** 2 * count  # of the squared errors, by the delta method
    fourth = count * ((spread + score**4) - (spread + score**4)[0])[1:]
    labels_tried = np.linspace(0, 100, 2001)
    curve = (PROBE - labels_tried) ** 4 - (BASE - labels_tried) ** 4
    return missed(np.interp(-fourth, -curve, labels_tried), labels)


def climb(labels: FloatArray, feedback: Feedback, rng: np.random.Generator) -> tuple[float, float]:
    """Public and private RMSE after hill climbing."""
    best = labels + rng.normal(0, START, len(labels))
    heard = feedback((best - labels)[:PUBLIC])
    for _ in range(CLIMBS - 1):
        tried = best + rng.normal(0, STEP, len(labels))
        now = feedback((tried - labels)[:PUBLIC])
        if now < heard:
            best, heard = tried, now
    return float(rmse((best - labels)[:PUBLIC])), float(rmse((best - labels)[PUBLIC:]))


def main() -> None:
    """Attack and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    drawn = [np.random.default_rng(run).uniform(20, 100, LABELS) for run in range(runs)]
    print(f"{'feedback':<28}{'labels missed by':>17}{'climber, public':>17}{'private':>9}")
    for name, mode in MODES.items():
        silent = name.startswith("ladder")
        labels = np.mean([one_row_at_a_time(each, mode(), silent) for each in drawn])
        climbed = [climb(each, mode(), np.random.default_rng(1000 + run)) for run, each in enumerate(drawn)]
        public, private = np.mean(climbed, axis=0)
        print(f"{name:<28}{labels:>17.4f}{public:>17.2f}{private:>9.2f}")
    for name, decimals in (("interval, full precision", None), ("interval, as published", 2)):
        print(f"{name:<28}{np.mean([from_intervals(each, decimals) for each in drawn]):>17.4f}")
    spread = np.mean([rmse(each - each.mean()) for each in drawn])
    print(f"{'nothing: all at their mean':<28}{spread:>17.4f}")


if __name__ == "__main__":
    main()
