"""How often the alarm of a stream is false, and how soon it finds a fall (docs/results/estimate.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/streams.py DIR [--samples 20] [--write]

FOLDER and DIR are those of estimate.py here. A stream is 100 windows of 500 rows, two points above its limit,
or 20 of these and then 8 after a fall of ten points, without labels and with 25 in each window. By
construction, estimates err by so many points, and by chance as all labels of a window would. From a model,
each sample has 1,000 labelled rows, and others are mixed into new ones until ten points are lost.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import real
import shifts
from pages import record

import unseen
from unseen.estimation.budget import answered
from unseen.estimation.stream import Stream, Window

KNOWN, SIZE, SAME, WORSE, LABELS = 1000, 500, 60, 20, 25
ABOVE, FALL, LIMIT = 0.02, 0.1, 0.79
Rows = np.ndarray
"""Logits and, in the last column, classes (n, k + 1)."""
Outcome = tuple[bool, bool, bool]
"""Whether an alarm is false, and whether one finds a fall within 2,000 rows, and within 4,000."""
Sample = tuple[float, list[Window]]
"""The limit, and windows with labels: `SAME` before the fall, `WORSE` after it."""


def constructed(bias: float, rng: np.random.Generator) -> Sample:
    """Windows whose estimates err by `bias`, and by chance."""
    windows = []
    for truth in [LIMIT + ABOVE] * SAME + [LIMIT + ABOVE - FALL] * WORSE:
        estimate, by_labels = (rng.binomial(count, truth) / count for count in (SIZE, LABELS))
        windows.append(Window("", SIZE, min(estimate + bias, 1.0), 1.0, LABELS, by_labels))
    return LIMIT, windows


def estimated(plain: Rows, others: Rows, rng: np.random.Generator) -> Sample:
    """Windows as the kit estimates them."""
    known, rest = np.split(rng.permutation(plain), [KNOWN])
    new = rest[rng.integers(len(rest), size=(SAME + WORSE) * SIZE)]
    mixed = rng.random(len(new)) < FALL / (accuracy(rest) - accuracy(others))
    mixed[: SAME * SIZE] = False
    new[mixed] = others[rng.integers(len(others), size=mixed.sum())]
    found = unseen.estimate(known[:, :-1], known[:, -1].astype(int), {"": new[:, :-1]}, window=SIZE)
    first = {each.set_name: SIZE * i for i, each in enumerate(found.seen)}
    pairs = found.ask(LABELS)[["set", "row"]].itertuples(index=False)
    found = answered(found, {(of, row): f"{new[first[of] + row, -1]:.0f}" for of, row in pairs})
    return accuracy(rest) - ABOVE, [each.window for each in found.sets]


def accuracy(rows: Rows) -> float:
    """The share of rows that are classed rightly."""
    return float((rows[:, :-1].argmax(axis=1) == rows[:, -1]).mean())


def simulated(rng: np.random.Generator, signal: float | Rows = 2.5, noise: float = 0) -> Rows:
    """The model of the how-to page with a signal, or one for each class, and noise in its logits."""
    labels = rng.integers(10, size=50_000)
    values = rng.normal(size=(len(labels), 10)) + (np.eye(10) * signal)[labels]
    return np.column_stack([2 * values + noise * rng.normal(size=values.shape), labels])


def kinds(folder: Path) -> Iterator[tuple[str, int, Callable[[np.random.Generator], Sample]]]:
    """What draws a sample of each kind of windows, and how many times as often."""
    for bias in (-5, -1, 0, 1, 5):
        yield f"by construction, {bias:+d} points", 10, partial(constructed, bias / 100)
    rng = np.random.default_rng(999)
    plain, uneven = simulated(rng), simulated(rng, np.linspace(1.3, 3.9, 10))
    others = {"weaker signal": simulated(rng, 2.1), "no signal": simulated(rng, 0)}
    for kind, rows in {**others, "noise in logits": simulated(rng, noise=4)}.items():
        yield f"simulated, {kind}", 1, partial(estimated, plain, rows)
    yield "simulated, hard classes", 1, partial(estimated, uneven, uneven[uneven[:, -1] < 3])
    case, families = next(shifts.natural_cases(folder)), dict[str, list[Rows]]()
    for (family, _), look in [*case.sets.items(), (("none", ""), case.labelled)]:
        families.setdefault(family, []).append(np.column_stack([look.logits, look.labels]))
    for kind in ("distorted", "cats and dogs", "tiny imagenet"):
        rows = np.vstack(families["none"]), np.vstack(families[kind])
        yield f"{case.model}, {kind}", 1, partial(estimated, *rows)


def raised(windows: list[Window], limit: float) -> int:
    """The number of windows after which the alarm is raised; 0 if it is not."""
    stream, error = Stream(limit, "likely", 0.9, ()), (limit * (1 - limit) / KNOWN) ** 0.5
    for i, each in enumerate(windows, 1):
        stream = stream.after(each._replace(name=str(i)), error)
    return int(stream.raised or 0)


def outcome(windows: list[Window], limit: float, rng: np.random.Generator) -> Outcome:
    """What the alarm does in a stream without a fall, and in one with it."""
    same = rng.integers(SAME, size=100)
    delay = raised([windows[i] for i in [*same[:20], *SAME + rng.permutation(WORSE)[:8]]], limit) - 20
    return raised([windows[i] for i in same], limit) > 0, 0 < delay <= 4, delay > 0


def main() -> None:
    """Draw, estimate, print, record."""
    parser = real.parser(__doc__)
    parser.add_argument("--samples", type=int, default=20)
    asked, lines = parser.parse_args(), list[dict[str, object]]()
    for name, times, draw in kinds(asked.folder):
        streams = {0: list[Outcome](), LABELS: list[Outcome]()}
        for sample in range(times * asked.samples):
            rng = np.random.default_rng(sample)
            limit, windows = draw(rng)
            for labels, outcomes in streams.items():
                told = [each._replace(labels=labels) for each in windows]
                outcomes += [outcome(told, limit, rng) for _ in range(20)]
        for labels, outcomes in streams.items():
            false, soon, later = map(float, np.mean(outcomes, axis=0))
            line = {"estimates": name, "labels": labels, "streams": len(outcomes), "false alarms": false}
            lines.append(line | {"found within 2,000": soon, "within 4,000": later})
        print(*lines[-2:], sep="\n", flush=True)
    if asked.write:
        record("streams", lines)


if __name__ == "__main__":
    main()
