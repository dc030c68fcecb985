"""Which words `unseen estimate` may print: its promises on shifts that chose nothing in the kit.

    python benchmarks/strangers/strangers.py [--tasks 12] [--jobs 2] [--keep FILE] [--write]

Each evidence (logits; with features; with a second model; 50 labels of each set) has a line a family. With
another checkout first in PYTHONPATH its code judges the same sets. CBPE is NannyML's, where
`pip install 'unseen[bench]'` has installed it. Five minutes on two cores. --write records the sums.
"""

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import tasks

from starter.observing.observation import PEER, Observation
from unseen.estimation import budget
from unseen.estimation.estimates import Estimates
from unseen.estimation.fitted import CENTRES, Fitted
from unseen.estimation.from_logits import with_features
from unseen.estimation.inputs import LEAST, Asked

try:
    import nannyml
except ImportError:
    nannyml = None

sys.path.append(str(Path(__file__).resolve().parents[1] / "results"))
import pages

MAKERS = {"tables": tasks.table, "digits": tasks.digits, "classes": tasks.clouds}
MAKERS |= {"made-up logits": tasks.made_up, "saturated": tasks.table}
MARGIN, LABELS = 0.05, 50
LIMITS = (0.6, 0.7, 0.8, 0.9)
"""Accuracies below which an alarm is asked for."""
FEW = 10
"""Number of sets with a level below which a family's coverage is left out of the least."""


def observed(case: tasks.Case, way: str) -> list[Observation]:
    """The labelled rows and the sets as the kit sees them."""
    seen = []
    for name, look in {
        "labelled": case.labelled,
        **{each[1]: look for each, look in case.sets.items()},
    }.items():
        views = {f"{PEER}second": np.log(np.maximum(look.second, LEAST))} if way == "second" else {}
        logits = np.log(np.maximum(look.probabilities, LEAST)).astype(np.float32)
        features = look.features if way == "features" else None
        seen.append(Observation(name, case.model, logits, features=features, views=views))
    return with_features(seen) if way == "features" else seen


def estimated(case: tasks.Case, way: str) -> Estimates:
    """The estimates of a case's sets as `unseen estimate` makes them."""
    labels, (known, *seen) = case.labelled.labels, observed(case, way)
    fitted = Fitted.of(known, labels, (*CENTRES, "cott"))
    asked = Asked(margin=MARGIN)
    sets = tuple(fitted.estimate(each, asked) for each in seen)
    known_of = {"accuracy": fitted.accuracy, "images": len(labels), "level": asked.level, "margin": MARGIN}
    names = {"classes": fitted.classes, "centres": fitted.centres, "compared": fitted.compared}
    found = Estimates(sets=sets, halves=(), chance=0.0, seen=tuple(seen), **known_of, **names)
    if way != "labels":
        return found
    truth = {name: look.labels for (_, name), look in case.sets.items()}
    table = budget.draw(found, LABELS)
    rows = zip(table.set, table.row, strict=True)
    return budget.answered(found, {(name, row): str(truth[name][row]) for name, row in rows})


def by_kit(case: tasks.Case, way: str) -> Iterator[dict[str, object]]:
    """What the kit says of each set."""
    found = estimated(case, way)
    for each in found.sets:
        below = [limit for limit in LIMITS if each.name in found.below(limit, "certain")]
        level = each.interval(found.level).endswith("%")
        said = {"level": level, "fallen": each.fallen, "outside": each.outside, "below": below}
        yield {"low": each.low, "high": each.high, "labelled": found.accuracy, **said}


def by_cbpe(case: tasks.Case) -> Iterator[dict[str, object]]:
    """What NannyML's CBPE says: "no" is where it raises no alert; its band is three standard errors."""
    k = case.labelled.probabilities.shape[1]

    def frame(look: tasks.Look) -> pd.DataFrame:
        columns = pd.DataFrame(look.probabilities, columns=[f"p{i}" for i in range(k)])
        return columns.assign(predicted=look.probabilities.argmax(axis=1), truth=look.labels)

    known = frame(case.labelled)
    judge = nannyml.CBPE(
        y_pred_proba={i: f"p{i}" for i in range(k)} if k > 2 else "p1",
        y_pred="predicted",
        y_true="truth",
        metrics=["accuracy"],
        chunk_size=tasks.SIZE,
        problem_type=f"classification_{'multiclass' if k > 2 else 'binary'}",
    ).fit(known)
    for look in case.sets.values():
        new = judge.estimate(frame(look).drop(columns="truth")).filter(period="analysis").to_df()["accuracy"]
        low, high = (float(new[f"{end}_confidence_boundary"].iloc[0]) for end in ("lower", "upper"))
        fallen = "cannot tell" if new.alert.iloc[0] else "no"
        said = {"level": True, "fallen": fallen, "below": [limit for limit in LIMITS if high < limit]}
        yield {"low": low, "high": high, "labelled": float((known.predicted == known.truth).mean()), **said}


def judged(group: str, number: int) -> list[dict[str, object]]:
    """What is said of all sets of a group and number by every evidence, and the truth."""
    lines = []
    for case in MAKERS[group](group, number):
        bare = case.labelled.features is None
        for way in ("logits", "labels") if bare else ("logits", "features", "second", "labels", "CBPE"):
            if way == "CBPE" and nannyml is None:
                continue
            said = by_cbpe(case) if way == "CBPE" else by_kit(case, way)
            for (family, _), look, each in zip(case.sets, case.sets.values(), said, strict=True):
                truth = float((look.probabilities.argmax(axis=1) == look.labels).mean())
                lines.append(
                    {"from": way, "group": case.group, "model": case.model, "family": family, "truth": truth}
                )
                lines[-1] |= each
    return lines


def rates(lines: pd.DataFrame) -> dict[str, object]:
    """The rates of some sets; a rate of none is empty."""
    holds = lines.truth.between(lines.low - 1e-9, lines.high + 1e-9)
    fell, no = lines.truth < lines.labelled - MARGIN, lines.fallen == "no"
    truth, limits = lines.truth.to_numpy()[:, None], np.array(LIMITS)
    told = np.array([[limit in each for limit in LIMITS] for each in lines.below])
    false, missed = told[truth >= limits + 0.05], ~told[truth <= limits - 0.1]
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


def main() -> None:
    """Make, judge, print, record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    counts = {"classes": 4, "tables": asked.tasks, "digits": 2, "made-up logits": 2, "saturated": 2}
    jobs = [(group, number) for group, count in counts.items() for number in reversed(range(count))]
    if nannyml is None:
        print("NannyML is not installed: no lines of CBPE")
    with ProcessPoolExecutor(asked.jobs) as pool:
        found = pool.map(judged, *zip(*jobs, strict=True))
        lines = pd.DataFrame([line for each in found for line in each])
    if asked.keep:
        lines.to_csv(asked.keep, index=False)
    for way, part in lines.groupby("from", sort=False):
        families = part.groupby(["group", "family"], sort=False)
        table = pd.DataFrame([{"group": key[0], "family": key[1], **rates(each)} for key, each in families])
        print(f"\n{way}\n{table.round(2).to_string(index=False)}")
    sums = [{"from": way, **summed(part)} for way, part in lines.groupby("from", sort=False)]
    print(f"\n{pd.DataFrame(sums).round(3).to_string(index=False)}")
    if asked.write:
        pages.record("strangers", sums)


if __name__ == "__main__":
    main()
