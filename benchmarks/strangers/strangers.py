"""Which words `unseen estimate` may print: its promises on shifts that chose nothing in the kit.

From logits; with features; with a second model; with 50 labels of each set. release.py prints all of it.
"""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd
import tasks

import unseen
from unseen.estimation.budget import answered
from unseen.estimation.estimation import Estimation

MAKERS = {"tables": tasks.table, "digits": tasks.digits, "classes": tasks.clouds}
MAKERS |= {"made-up logits": tasks.made_up, "saturated": tasks.table}
MARGIN, LABELS = 0.05, 50
LIMITS = (0.6, 0.7, 0.8, 0.9)
"""Accuracies below which an alarm is asked for."""
FEW = 10
"""Number of sets with a level below which a family's coverage is left out of the least."""


def estimated(case: tasks.Case, way: str) -> Estimation:
    """The estimates of a case's sets by an evidence."""
    known, looks = case.labelled, {name: look for (_, name), look in case.sets.items()}
    second = known.second, {name: look.second for name, look in looks.items()}
    features = known.features, {name: look.features for name, look in looks.items()}
    found = unseen.estimate(
        known.probabilities,
        known.labels,
        {name: look.probabilities for name, look in looks.items()},
        second=second if way == "second" else None,
        features=features if way == "features" else None,
        probabilities=True,
        margin=MARGIN,
    )
    if way != "labels":
        return found
    rows = found.ask(LABELS)[["set", "row"]].itertuples(index=False)
    return answered(found, {(name, row): str(looks[name].labels[row]) for name, row in rows})


def judged(group: str, number: int) -> list[dict[str, object]]:
    """What the kit says of all sets of a group and number by every evidence, and the truth."""
    lines = []
    for case in MAKERS[group](group, number):
        bare = case.labelled.features is None
        for way in ("logits", "labels") if bare else ("logits", "features", "second", "labels"):
            found = estimated(case, way)
            alarms = [found.below(limit, "certain") for limit in LIMITS]
            for ((family, name), look), each in zip(case.sets.items(), found.sets, strict=True):
                line = {"from": way, "group": case.group, "family": family, "labelled": found.accuracy}
                line |= {"truth": float((look.probabilities.argmax(axis=1) == look.labels).mean())}
                line |= {"low": each.low, "high": each.high, "fallen": each.fallen}
                line |= {"level": each.interval(found.level).endswith("%")}
                lines.append(line | {"alarms": [name in names for names in alarms]})
    return lines


def rates(lines: pd.DataFrame) -> dict[str, object]:
    """The rates of some sets; a rate of none is empty."""
    holds = lines.truth.between(lines.low - 1e-9, lines.high + 1e-9)
    fell, no = lines.truth < lines.labelled - MARGIN, lines.fallen == "no"
    truth, limits = lines.truth.to_numpy()[:, None], np.array(LIMITS)
    alarms = np.array(lines.alarms.tolist())
    false, missed = alarms[truth >= limits + 0.05], ~alarms[truth <= limits - 0.1]
    return {
        "sets": len(lines),
        "coverage": holds.mean(),
        "a level": lines.level.mean(),
        "coverage there": holds[lines.level].mean(),
        '"no" if fallen': no[fell].mean(),
        '"no" if not': no[~fell].mean(),
        "alarms: missed": missed.mean() if len(missed) else np.nan,
        "false": false.mean() if len(false) else np.nan,
    }


def summed(lines: pd.DataFrame) -> dict[str, object]:
    """The rates over all families that can be known; coverages are means over families."""
    known = lines[lines.family != tasks.CONCEPT]
    families = pd.DataFrame([rates(part) for _, part in known.groupby(["group", "family"])])
    least = families["coverage there"][families.sets * families["a level"] >= FEW].min()
    means = {name: families[name].mean() for name in ("coverage", "coverage there")}
    return rates(known) | means | {"least there": least}


def all_lines() -> pd.DataFrame:
    """What the kit says of all sets."""
    counts = {"classes": 4, "tables": 12, "digits": 2, "made-up logits": 2, "saturated": 2}
    jobs = [(group, number) for group, count in counts.items() for number in reversed(range(count))]
    with ProcessPoolExecutor(2) as pool:
        found = pool.map(judged, *zip(*jobs, strict=True))
        return pd.DataFrame([line for each in found for line in each])
