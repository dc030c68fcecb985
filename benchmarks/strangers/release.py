"""What strangers bring, before each release: how much of it is right, refused well, or wrong.

    OMP_NUM_THREADS=1 python benchmarks/strangers/release.py [KIND]... [--write]

KIND is one of `KINDS`, archives or tasks; without any, all are tried, five minutes of two cores. A refusal is
good if it has one line. Of tasks (strangers.py) a family of shifts by an evidence is right if its sets with a
level hold the truth as often as LEAST, and refused if FEW have one; an evidence is wrong if the mean of
families is below LEVEL, or "no" said of more fallen sets than NO. Exit code 1 if anything is wrong. What is
read wrongly elsewhere becomes a case here; nothing is chosen on these.
"""

import sys
from collections import Counter
from pathlib import Path

import files
import models
import pandas as pd
import strangers
from brought import OUTCOMES, outcomes

sys.path.append(str(Path(__file__).resolve().parents[1] / "attacks"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "results"))
import archives
import pages
import real

LEAST, LEVEL, NO = 0.8, 0.9, 0.02
KINDS = {"tables": files.tables, "scores": files.scores, "images": files.images, "models": models.models}


def opened() -> Counter[str]:
    """Archives: the one without an attack is right if it is accepted."""
    tried = {form: accepted for form, accepted, _ in archives.tried()}
    sound = "right" if tried.pop("nothing") else "refused though sound"
    wrong = sum(tried.values())
    return Counter({sound: 1, "wrong": wrong, "refused well": len(tried) - wrong})


def promised(lines: pd.DataFrame) -> Counter[str]:
    """Families of shifts, and evidences; prints what is said of each."""
    counts = Counter[str]()
    for key, part in lines.groupby(["from", "group", "family"], sort=False):
        found = strangers.rates(part)
        outcome = "right" if found["coverage there"] >= LEAST else "wrong"
        if part.level.sum() < strangers.FEW:
            outcome = "refused well"
        if strangers.tasks.CONCEPT not in key:
            counts[outcome] += 1
        print(outcome, *key, *(f"{name} {value:.2f}" for name, value in found.items()), sep="  ")
    sums = summed(lines)
    broken = sums["coverage there"].lt(LEVEL) | sums['"no" if fallen'].gt(NO)
    counts += Counter({"right": int((~broken).sum()), "wrong": int(broken.sum())})
    print(sums.round(3).to_string())
    return counts


def summed(lines: pd.DataFrame) -> pd.DataFrame:
    """What is said of all sets by each evidence."""
    return pd.DataFrame(
        [{"from": way, **strangers.summed(part)} for way, part in lines.groupby("from", sort=False)]
    )


def main() -> None:
    """Try, count, print."""
    parser = real.parser(__doc__, folder=False)
    parser.add_argument("kind", nargs="*", choices=[*KINDS, "archives", "tasks", []], default=[])
    options = parser.parse_args()
    chosen = options.kind or [*KINDS, "archives", "tasks"]
    counts = {kind: outcomes(kind, KINDS[kind]()) for kind in KINDS if kind in chosen}
    if "archives" in chosen:
        counts["archives"] = opened()
    if "tasks" in chosen:
        lines = strangers.all_lines()
        counts["tasks"] = promised(lines)
        if options.write:
            pages.record("strangers", summed(lines).to_dict("records"))
    rows = [
        {"brought": kind, "tried": sum(each.values()), **{name: each[name] for name in OUTCOMES}}
        for kind, each in counts.items()
    ]
    print(pd.DataFrame(rows).to_string(index=False))
    if options.write:
        pages.record("strangers-release", rows)
    sys.exit(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    main()
