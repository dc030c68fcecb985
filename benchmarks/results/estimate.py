"""How intervals and verdicts of `unseen.estimate` hold over families of shifts (docs/results/estimate.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/estimate.py DIR [--seeds 3] [--images] [--write]

FOLDER holds what `real.py` here says, with natural.zip, natural_more.zip and another network's weights,
weights/resnet56_peer.safetensors; DIR keeps what networks have seen. A family's intervals are made by
constants that have not seen it; those printed at the end have seen all. --images estimates photographs from
the networks and the images, with 24 meta-train sets. --write puts the tables into docs/results.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import real
import shifts
from pages import merge, show
from scipy.optimize import minimize

from baselines.accuracy.shift import divided
from baselines.contract.intervals import CONSTANTS, FAR, Constants, Signs, interval, judged, least_of
from starter.observing.observation import Observation
from unseen.estimation.estimates import INSIDE
from unseen.estimation.fitted import CENTRES, Fitted
from unseen.estimation.from_logits import with_features
from unseen.estimation.images import Asked, estimate_sets
from unseen.estimation.stream import SMALLEST

LEVEL, MARGIN = 0.9, 0.05
FITTED = 0.95
"""Level whose penalty the constants are fitted with, since other families are not among those they see."""
UNKNOWABLE = ("scaled logits", "drift")
"""Families that no estimate can tell: a temperature, and words that have come to mean another topic."""
LIMITS = np.array((0.6, 0.7, 0.8, 0.9))
"""Accuracies below which an alarm is asked for."""
ENDS = {"certain": "high", "likely": "estimate", "possible": "least", "certain, shares apart": "bare"}
"""What alarms go by; at last the upper end that might lie below what class shares alone would leave."""
PULL = 1e-3
"""How strongly the constants' logarithms are held at those of today."""
WAYS = ("logits", "features")
SOME, CLEAN, SHIFTED = range(1, 5), "one to four classes", "the same, shifted"
"""Numbers of classes of sets of few classes, and the names of their families."""


@dataclass(frozen=True)
class Line:
    """A set as it was read: what is known of it, the readings that its interval spans, and the truth."""

    task: str
    family: str
    way: str
    signs: tuple[Signs, ...]
    labelled: float
    truth: float
    outside: float
    promised: bool


def with_few_classes(case: shifts.Case) -> dict[tuple[str, str], shifts.Look]:
    """A case's sets, and, of eight classes or more, parts of these with one to four."""
    rng, sets = np.random.default_rng(0), dict(case.sets)
    for i, ((family, name), look) in enumerate(case.sets.items()):
        some, part = (SOME, CLEAN) if family == "none" else (SOME[i % 4 : i % 4 + 1], SHIFTED)
        for count in some if case.labelled.logits.shape[1] >= 8 and family not in UNKNOWABLE else ():
            rows = shifts.few_classes(look.labels, rng, count)
            if SMALLEST <= len(rows) < len(look.labels):
                values = look.logits[rows], look.features[rows], look.labels[rows]
                sets[part, f"{name}, {count}"] = shifts.Look(*values)
    return sets


def read(cases: Iterable[shifts.Case]) -> list[Line]:
    """Each set as it is read from logits, and with features."""
    lines = []
    for case in cases:
        cut = with_few_classes(case)
        looks = [case.labelled, *cut.values()]
        seen = [
            Observation(f"{i}", case.model, np.float32(x.logits), features=np.float32(x.features))
            for i, x in enumerate(looks)
        ]
        bare = [Observation(each.set_name, case.model, each.logits) for each in seen]
        for way, (source, *sets) in zip(WAYS, (bare, with_features(seen)), strict=True):
            fitted = Fitted.of(source, case.labelled.labels, (*CENTRES, "cott"))
            for (family, _), look, each in zip(cut, looks[1:], sets, strict=True):
                _, shift, signs = fitted.read(each)
                readings = (signs,)
                if shift.scale != 1:
                    readings = (signs, fitted.read(divided(each, shift.scale))[2])
                promised = way == "features" and shift.scale == 1 and shift.outside <= INSIDE
                known = fitted.accuracy, look.accuracy, shift.outside, promised
                lines.append(Line(case.task, family, way, readings, *known))
    return lines


def fitted_constants(lines: list[Line]) -> Constants:
    """The turn with the least mean error, then the others with the least interval score, over families."""
    known = [line for line in lines if line.family not in UNKNOWABLE]
    family = pd.factorize(pd.Series([f"{line.task} {line.family}" for line in known]))[0]
    signs = Signs(*np.array([line.signs[0] for line in known]).T)
    truth, start = np.array([line.truth for line in known]), np.log(CONSTANTS[1:])

    def mean(values: np.ndarray) -> float:
        return float((np.bincount(family, values) / np.bincount(family)).mean())

    turns = np.linspace(0.3, 1, 36)
    errors = [mean(np.abs(judged(signs, Constants(turn, *CONSTANTS[1:]))[0] - truth)) for turn in turns]
    turn = float(turns[np.argmin(errors)])

    def loss(logs: np.ndarray) -> float:
        middle, error = judged(signs, Constants(turn, *np.exp(logs)))
        low, high = np.maximum(middle - 1.645 * error, 0), np.minimum(middle + 1.645 * error, 1)
        missed = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
        score = mean(high - low + 2 / (1 - FITTED) * missed)  # Gneiting & Raftery, JASA 2007
        return score + PULL * float(((logs - start) ** 2).mean())

    return Constants(turn, *np.exp(minimize(loss, start, method="Nelder-Mead").x).tolist())


def estimates(lines: list[Line]) -> pd.DataFrame:
    """Estimate and interval of each set, by constants that have not seen its family."""
    rows = []
    for family in dict.fromkeys(line.family for line in lines):
        constants = fitted_constants([line for line in lines if line.family != family])
        for line in (line for line in lines if line.family == family):
            terms = LEVEL, constants, line.promised, line.outside > FAR
            row = dict(zip(("estimate", "low", "high"), interval(line.signs, *terms), strict=True))
            row["bare"] = interval([each._replace(label_shift=0.0) for each in line.signs], *terms)[2]
            open_below = line.outside > FAR or len(line.signs) > 1
            row |= {"least": 0.0 if open_below else least_of(line.signs, constants), **vars(line)}
            rows.append(row)
    return judged_against_truth(pd.DataFrame(rows))


def judged_against_truth(found: pd.DataFrame) -> pd.DataFrame:
    """The estimates with what is right and wrong about them."""
    holds = found.truth.between(found.low - 1e-9, found.high + 1e-9)
    fell, width = found.truth < found.labelled - MARGIN, found.high - found.low
    return found.assign(holds=holds, fell=fell, width=width, error=found.estimate - found.truth)


def by_family(found: pd.DataFrame) -> list[dict[str, object]]:
    """Coverage, width and RMSE of each family from logits | with features."""
    lines = []
    for (task, family), group in found.groupby(["task", "family"], sort=False):
        parts = [group[group.way == way] for way in WAYS]
        told = {
            "coverage": [f"{part.holds.mean():.2f}" for part in parts],
            "width, points": [f"{100 * part.width.mean():.0f}" for part in parts],
            "RMSE, points": [f"{100 * np.sqrt((part.error**2).mean()):.1f}" for part in parts],
        }
        line = {"task": task, "family": family, "sets": len(parts[0])}
        lines.append(line | {name: " / ".join(values) for name, values in told.items()})
    return lines


def summary(found: pd.DataFrame) -> list[dict[str, object]]:
    """Means over families, and the verdicts."""
    lines = []
    for way, group in found.groupby("way", sort=False):
        means = group.groupby(["task", "family"])[["holds", "width"]].mean()
        bar, fell = group.labelled - MARGIN, group.fell
        said, no = group.high < bar, group.least > bar
        lines.append(
            {
                "from": way,
                "coverage": float(means.holds.mean()),
                "least, of what can be known": float(means.drop(list(UNKNOWABLE), level=1).holds.min()),
                "width": float(means.width.mean()),
                "RMSE": float(np.sqrt((group.error**2).mean())),
                "fallen: yes": f"{(said & fell).sum()} of {fell.sum()}",
                "no": f"{(no & fell).sum()}",
                "others: yes": f"{(said & ~fell).sum()} of {(~fell).sum()}",
                "no ": f"{(no & ~fell).sum()}",
                "no, if near": f"{(no & ~fell).sum() / (~fell & (group.outside <= FAR)).sum():.2f}",
            }
        )
    return lines


def alarms(found: pd.DataFrame) -> list[dict[str, object]]:
    """The share of alarms 5 points or more above a limit, and that of none 10 or more below it."""
    lines = list[dict[str, object]]()
    ends = {name: value for name, value in ENDS.items() if value in found}
    for way, group in found.groupby("way", sort=False):
        few = group.family.isin((CLEAN, SHIFTED))
        for name, value in ends.items():
            lines.append({"from, and --fail-on": f"{way}, {name}"})
            parts = {"": group[~few], ", few classes": group[few]} if few.any() else {"": group}
            for part, sets in parts.items():
                truth, told = sets.truth.to_numpy()[:, None], sets[value].to_numpy()[:, None] < LIMITS
                lines[-1][f"false alarms{part}"] = told[truth >= LIMITS + 0.05].mean()
                lines[-1][f"missed{part}"] = (~told[truth <= LIMITS - 0.1]).mean()
    return lines


def of_images(name: str, count: int = 24) -> pd.DataFrame:
    """The estimates of photographs from a network and images, by the network's name."""
    sets = shifts.photographs()
    whole = sets.pop(("none", "none"))
    known, rest = (whole.take(part) for part in np.split(np.arange(len(whole)), [shifts.LABELLED]))
    sets = {("none", "none"): rest, **sets}
    network = real.classifier(shifts.NETWORKS[name], file=name)
    made = estimate_sets(network, known, list(sets.values()), Asked(count))
    found = pd.DataFrame(made.sets).rename(columns={"accuracy": "estimate"})
    pairs = zip(made.seen, sets.values(), strict=True)
    found["truth"] = [float((seen.predicted == images.labels).mean()) for seen, images in pairs]
    found["family"] = [family for family, _ in sets]
    print(found.to_string(), flush=True)
    return judged_against_truth(found.assign(way="images", network=name, labelled=made.accuracy))


def by_source(found: pd.DataFrame) -> list[dict[str, object]]:
    """Coverage, width, errors and verdicts of the estimates from images, each by network and source."""
    return [
        {
            "network": network,
            "family": family,
            "sets": len(group),
            "coverage": float(group.holds.mean()),
            "width, points": 100 * float(group.width.mean()),
            "RMSE, points": 100 * float(np.sqrt((group.error**2).mean())),
            "with a level": int(group.promised.sum()),
            "unfallen": int((~group.fell).sum()),
            "no, of these": int((group.fallen[~group.fell] == "no").sum()),
            "no, of fallen": int((group.fallen[group.fell] == "no").sum()),
        }
        for (network, family), group in found.groupby(["network", "family"], sort=False)
    ]


def main() -> None:
    """Read, fit, print, record."""
    parser = real.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--images", action="store_true")
    asked = parser.parse_args()
    if asked.images:
        found = pd.concat([of_images(name) for name in shifts.NETWORKS])
        tables = {"estimate-images": by_source(found)}
    else:
        lines = read(shifts.natural_cases(asked.folder))
        for seed in range(asked.seeds):
            lines += read(shifts.small_cases(seed))
        found = estimates(lines)
        tables = {"estimate-families": by_family(found), "estimate-summary": summary(found)}
        print("constants of all families:", fitted_constants(lines))
    show(tables, asked.write)
    print("\nestimate-alarms", *alarms(found), sep="\n")
    if asked.write:
        merge("estimate-alarms", alarms(found), "python benchmarks/results/estimate.py DIR --write")


if __name__ == "__main__":
    main()
