"""NannyML's CBPE, ppi_py and GLIDE beside `unseen.estimate`, on the same sets (docs/results/estimate.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/rivals.py DIR [--draws 20] [--write]

FOLDER and DIR are those of estimate.py here. The libraries are those of `pip install -e '.[bench]'`, in
Python 3.12 or later. Without labels of a set: its estimate and interval. With labels of some of its images,
drawn as each method draws them: RMSE and coverage over draws. A draw to which a method gives no answer, as
GLIDE where all labels are right, does not count for it, and the share of its answers is printed. Then there
are sets of 1,000 images of known accuracies, right where predicted class, confidence and chance say.
"""

import os
from collections.abc import Iterator

import numpy as np
import pandas as pd
import real
import shifts
from pages import show
from scipy.special import softmax
from scipy.stats import norm, sem

import unseen
from starter.observing.observation import Observation
from unseen.estimation.budget import ByLabels, in_strata, proportional_order
from unseen.estimation.estimates import SetEstimate

LEVEL, COUNTS, STRATA = 0.9, (20, 50, 100, 200), 5
Answer = tuple[float, float, float]
"""An estimate, and the low and high end of its interval."""


def frame(look: shifts.Look) -> pd.DataFrame:
    """The probabilities of each class, the predicted class and the label, as NannyML reads them."""
    columns = dict(enumerate(softmax(look.logits, axis=1).T))
    return pd.DataFrame({f"p{k}": p for k, p in columns.items()}).assign(
        predicted=look.logits.argmax(axis=1), label=look.labels
    )


def by_cbpe(labelled: shifts.Look, look: shifts.Look) -> Answer:
    """NannyML's estimate of a set, one chunk, and its boundaries, three standard errors of sampling."""
    os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"  # else it sends to its makers that it is used
    import nannyml

    several = look.logits.shape[1] > 2
    found = nannyml.CBPE(
        y_pred_proba={k: f"p{k}" for k in range(look.logits.shape[1])} if several else "p1",
        y_pred="predicted",
        y_true="label",
        problem_type="classification_multiclass" if several else "classification_binary",
        metrics=["accuracy"],
        chunk_size=len(look.labels),
    )
    line = found.fit(frame(labelled)).estimate(frame(look)).to_df()["accuracy"].iloc[0]
    return line["value"], line["lower_confidence_boundary"], line["upper_confidence_boundary"]


def classical(right: np.ndarray, rng: np.random.Generator, count: int) -> Answer:
    """The mean of simple random labels, and its normal interval."""
    rows = rng.permutation(len(right))[:count]
    mean, reach = right[rows].mean(), norm.ppf((1 + LEVEL) / 2) * sem(right[rows])
    return mean, mean - reach, mean + reach


def by_ppi(right: np.ndarray, sure: np.ndarray, rng: np.random.Generator, count: int) -> Answer:
    """The estimate of ppi_py from simple random labels and the confidences of all other images."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    known, others = np.split(rng.permutation(len(right)), [count])
    parts = right[known], sure[known], sure[others]
    low, high = ppi_mean_ci(*parts, alpha=1 - LEVEL)
    return float(ppi_mean_pointestimate(*parts)[0]), float(low[0]), float(high[0])


def by_glide(right: np.ndarray, sure: np.ndarray, rng: np.random.Generator, count: int) -> Answer | None:
    """GLIDE's estimate by fifths of the images by confidence, labels in proportion; None if it refuses."""
    from glide.estimators import StratifiedPPIMeanEstimator
    from glide.samplers import StratifiedSampler

    groups = np.argsort(np.argsort(sure, kind="stable"), kind="stable") * STRATA // len(sure)
    seed = int(rng.integers(2**31))
    try:
        drawn = StratifiedSampler().sample(sure, groups, count, strategy="proportional", random_seed=seed)
        labels = np.where(drawn == 1, right, np.nan)
        found = StratifiedPPIMeanEstimator().estimate(labels, sure, groups, confidence_level=LEVEL)
    except ValueError:
        return None
    ends = found.confidence_interval
    return ends.mean, ends.lower_bound, ends.upper_bound


def by_labels(order: np.ndarray, right: np.ndarray, rng: np.random.Generator, count: int) -> ByLabels:
    """What labels tell that are drawn as `--ask` draws them from rows in order of their strata."""
    rows = proportional_order(order, rng)[:count]
    return ByLabels.of(right[rows], np.argsort(order)[rows], len(order), LEVEL)


def by_kit(each: SetEstimate, own: ByLabels) -> Answer:
    """What `unseen estimate --answers` prints for labels of a set."""
    error = max(each.high - each.accuracy, each.accuracy - each.low) / norm.ppf((1 + LEVEL) / 2)
    return own.shrunk(each.accuracy, error), own.low, own.high


def of_case(case: shifts.Case, draws: int) -> Iterator[dict[str, object]]:
    """A line for each method, set and number of labels, and of each set for none."""
    names = {f"{family}: {name}": look for (family, name), look in case.sets.items()}
    new = {name: look.logits for name, look in names.items()}
    found = unseen.estimate(case.labelled.logits, case.labelled.labels, new, level=LEVEL)
    for each, seen in zip(found.sets, found.seen, strict=True):
        look = names[each.name]
        right, sure = 1.0 * (seen.predicted == look.labels), seen.probabilities.max(axis=1)
        truth, rng, order = right.mean(), np.random.default_rng(0), in_strata(seen)
        answers = [("unseen", 0, (each.accuracy, each.low, each.high))]
        answers.append(("NannyML, CBPE", 0, by_cbpe(case.labelled, look)))
        for count in COUNTS if len(right) > 2 * max(COUNTS) else ():
            for _ in range(draws):
                answers.append(("unseen", count, by_kit(each, by_labels(order, right, rng, count))))
                answers.append(("classical", count, classical(right, rng, count)))
                answers.append(("ppi_py, PPI++", count, by_ppi(right, sure, rng, count)))
                answers.append(("GLIDE, stratified PPI++", count, by_glide(right, sure, rng, count)))
        for method, count, answer in answers:
            value, low, high = answer or (np.nan, np.nan, np.nan)
            line = {"method": method, "labels": count, "set": (case.task, case.model, each.name)}
            yield line | {"error": value - truth, "holds": low <= truth <= high, "width": high - low}


def of_known(draws: int = 200) -> Iterator[dict[str, object]]:
    """Coverage and widths of intervals by the kit's labels alone, on sets of known accuracies."""
    rng, n, k = np.random.default_rng(0), 1000, 10
    for accuracy in (0.5, 0.8, 0.95, 1.0):
        classes, sure, eased = rng.integers(k, size=n), rng.exponential(size=n), rng.normal(size=k)
        order = in_strata(Observation("known", "made", np.float32(np.eye(k)[classes] * sure[:, None])))
        right = np.zeros(n, bool)
        right[np.argsort(rng.logistic(size=n) - sure - eased[classes])[: round(accuracy * n)]] = True
        for count in COUNTS[:3]:
            found = [by_labels(order, right, np.random.default_rng(seed), count) for seed in range(draws)]
            widths = 100 * np.array([each.high - each.low for each in found])
            coverage = float(np.mean([each.low <= accuracy <= each.high for each in found]))
            line = {"true accuracy": accuracy, "labels": count, "coverage": coverage}
            yield line | {"mean width, points": float(widths.mean()), "least": float(widths.min())}


def main() -> None:
    """Estimate, draw, print, record."""
    parser = real.parser(__doc__)
    parser.add_argument("--draws", type=int, default=20)
    asked = parser.parse_args()
    cases = (*shifts.small_cases(0), *shifts.natural_cases(asked.folder))
    lines = pd.DataFrame([line for case in cases for line in of_case(case, asked.draws)])
    table = []
    for (count, method), all_lines in lines.groupby(["labels", "method"]):
        given = all_lines.dropna(subset="error")
        table.append(
            {
                "labels": count,
                "method": method,
                "sets": all_lines["set"].nunique(),
                "answers": f"{len(given) / len(all_lines):.2f}",
                "RMSE, points": 100 * float((given.error**2).mean() ** 0.5),
                "coverage": float(given.holds.mean()),
                "mean width, points": 100 * float(given.width.mean()),
            }
        )
    show({"rivals": table, "budget-known": list(of_known())}, asked.write)


if __name__ == "__main__":
    main()
