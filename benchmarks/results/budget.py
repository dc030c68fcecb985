"""What labels of some images gain for `unseen.estimate` (docs/results/estimate.md, A budget of labels).

    UNSEEN_DATA=FOLDER python benchmarks/results/budget.py DIR [--draws 200] [--write]

FOLDER and DIR are those of estimate.py here, whose digits and natural validation sets are drawn from many
times: 50 labels of each set as `--ask` draws them, by themselves and with the estimate from logits, beside
the error of simple random labels, which is known (rivals.py here has other libraries). Then there are sets
of 1,000 images of known accuracies, right where predicted class, confidence and chance say. --write puts the
tables into docs/results.
"""

from collections.abc import Iterator

import numpy as np
import real
import shifts
from pages import record
from scipy.stats import norm

import unseen
from starter.observing.observation import Observation
from unseen.estimation.budget import ByLabels, in_strata, proportional_order

COUNT, LEVEL = 50, 0.9
NETWORKS = ("resnet56", "repvgg_a0")
LEAST = 0.01
"""Smallest RMSE of labels alone with which another is compared, a fraction: a perfect set has none."""


def drawn(order: np.ndarray, right: np.ndarray, count: int, draws: int) -> Iterator[ByLabels]:
    """What labels alone tell, by the draws of so many seeds."""
    ranks = np.argsort(order)
    for seed in range(draws):
        rows = proportional_order(order, np.random.default_rng(seed))[:count]
        yield ByLabels.of(right[rows], ranks[rows], len(order), LEVEL)


def of_known(draws: int) -> list[dict[str, object]]:
    """Coverage and widths on sets of known accuracies."""
    rng, lines, n, k = np.random.default_rng(0), list[dict[str, object]](), 1000, 10
    for accuracy in (0.5, 0.8, 0.95, 1.0):
        classes, sure, eased = rng.integers(k, size=n), rng.exponential(size=n), rng.normal(size=k)
        order = in_strata(Observation("known", "made", np.float32(np.eye(k)[classes] * sure[:, None])))
        right = np.zeros(n, bool)
        right[np.argsort(rng.logistic(size=n) - sure - eased[classes])[: round(accuracy * n)]] = True
        for count in (20, 50, 100):
            found = list(drawn(order, right, count, draws))
            widths = 100 * np.array([each.high - each.low for each in found])
            coverage = float(np.mean([each.low <= accuracy <= each.high for each in found]))
            line = {"true accuracy": accuracy, "labels": count, "coverage": coverage}
            width = {"mean width, points": float(widths.mean()), "least": float(widths.min())}
            lines.append(line | width)
    return lines


def of_case(case: shifts.Case, draws: int) -> list[tuple[np.ndarray, float]]:
    """Each set's RMSE by simple random labels, as drawn, and with the estimate; and its coverage."""
    photographs = case.task == "photographs"
    looks = {name: each for (of, name), each in case.sets.items() if not photographs or of in shifts.SOURCES}
    known, new = case.labelled, {name: each.logits for name, each in looks.items()}
    found, lines = unseen.estimate(known.logits, known.labels, new, level=LEVEL), []
    for each, seen in zip(found.sets, found.seen, strict=True):
        right, n = seen.predicted == looks[each.name].labels, len(seen)
        truth, error = float(right.mean()), (each.high - each.low) / (2 * norm.ppf((1 + LEVEL) / 2))
        alone = np.sqrt(truth * (1 - truth) / COUNT * (n - COUNT) / (n - 1))
        labels = list(drawn(in_strata(seen), right, COUNT, draws))
        values = [[x.accuracy for x in labels], [x.shrunk(each.accuracy, error) for x in labels]]
        rmse = np.array([alone, *np.sqrt(((np.array(values) - truth) ** 2).mean(axis=1))])
        lines.append((rmse, float(np.mean([x.low <= truth <= x.high for x in labels]))))
        print(case.task, case.model, each.name, f"{truth:.3f} {each.accuracy:.3f}", rmse.round(3), flush=True)
    return lines


def summary(task: str, model: str, lines: list[tuple[np.ndarray, float]]) -> dict[str, object]:
    """The line of a model's sets, or of all."""
    errors = np.array([rmse for rmse, _ in lines])
    alone, by_draw, both = np.sqrt((errors**2).mean(axis=0))
    return {
        "sets": f"{len(lines)} of {task}",
        "model": model,
        "labels alone": 100 * float(alone),
        "as drawn": 100 * float(by_draw),
        "with the estimate": 100 * float(both),
        "ratio": float(both / alone),
        "ratio, worst set": float((errors[:, 2] / np.maximum(errors[:, 0], LEAST)).max()),
        "coverage": float(np.mean([held for _, held in lines])),
    }


def main() -> None:
    """Draw, print, record."""
    parser = real.parser(__doc__)
    parser.add_argument("--draws", type=int, default=200)
    asked = parser.parse_args()
    tables, whole = {"known": of_known(asked.draws), "sets": list[dict[str, object]]()}, []
    for case in (*shifts.natural_cases(asked.folder), *shifts.small_cases(0)):
        if case.model in NETWORKS or case.task == "digits":
            lines = of_case(case, asked.draws)
            whole += lines
            tables["sets"].append(summary(case.task, case.model, lines))
    tables["sets"].append(summary("both", "all", whole))
    for name, rows in tables.items():
        print(f"\n{name}", *rows, sep="\n")
        if asked.write:
            record(f"budget-{name}", rows)


if __name__ == "__main__":
    main()
