"""Gscore and its rivals on real images: the tables of docs/results/ood-track.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/gscore.py DIR [--metric auroc] [--tables FOLDER] [--write]
    python benchmarks/results/gscore.py DIR --contests FOLDER ... [--write]

FOLDER holds cifar10.zip (train/<class>/, test/<class>/), ood.zip (<set>/) and weights/resnet56.safetensors.
DIR keeps what was observed and scored, so that a second run goes on from there. The second command compares
built competitions of the OOD track: their classifiers and IND data (tables 2 and 3).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import real
from numpy.typing import NDArray
from pages import record
from tqdm import tqdm

from baselines import OOD_BASELINES
from baselines.contract.estimator import Estimator
from baselines.contract.families import Fold, folds
from baselines.report.gscore import ablate, make_table, write_table
from starter.contest.ood.settings import SHARES
from starter.data.images.reading import Fit
from starter.data.sets.mix import LEAST, POOL, Mix, family
from starter.data.sources.oodsets import load_ood_sets, without_shared
from starter.data.sources.sources import load_source
from starter.observing.cache import Cache
from starter.observing.detectors import DETECTORS
from starter.observing.detectors.metrics import DETECTION_METRICS, true_metric
from starter.observing.observation import MetaTrain, Moments, Observation, ScoredMix, Source
from starter.observing.observe import Observer
from submission import Competition
from submission.metrics import deviation_floor

SIZES = (50, 100, 200, 400, 800)
PAPER_SIZE = 800
SPLITS = 5
TRAIN_REF = 5000
SHOWN = ("msp", "odin", "energy", "mls")
PAPER = ("4", "5", "fig3", "fig7", "fig8", "fig9-ratio", "fig9-size", "fig9-random", "fig10")
NUMBERS = ("pearson", "spearman", "true", "predicted", "gscore", "target", "mixes")


@dataclass(frozen=True)
class Pools:
    """The reference with the network, IND images for meta-train and test mixes, OOD sets by name, scores (n,)
    by detector and pool ("reference", "meta_base", ...), and the metric to be predicted."""

    source: Source
    meta: Observation
    test: Observation
    ood: dict[str, Observation]
    scores: dict[str, dict[str, NDArray[np.float64]]]
    metric: str


def observed(metric: str, folder: Path, detectors: Sequence[str] = SHOWN) -> Pools:
    """Every pool seen by the classifier and scored by the detectors; from the cache where it is there."""
    splits = load_source(str(real.data() / "cifar10.zip"))
    sets = load_ood_sets(str(real.data() / "ood.zip"), splits.classes, Fit(splits.image_size))
    sets = without_shared(sets, (splits.train, splits.reference, splits.meta_base, splits.test_base))
    observer = Observer(real.classifier(), Cache(folder / "cache"))
    chosen = np.random.default_rng(0).permutation(len(splits.train))[:TRAIN_REF]
    ind = (splits.train.take(chosen, "train_ref"), splits.meta_base, splits.test_base)
    needs = ("features", "moments")
    source, seen = real.observed(observer, splits.reference, *ind, *sets.values(), needs=needs)
    scores = {name: scored(name, source, [source.observation, *seen], folder) for name in detectors}
    return Pools(source, seen[0], seen[1], dict(zip(sets, seen[2:], strict=True)), scores, metric)


def scored(
    detector: str, source: Source, pools: list[Observation], folder: Path
) -> dict[str, NDArray[np.float64]]:
    """The detector's scores of each pool, by its name."""
    path = folder / f"{source.observation.classifier}-{detector}.npz"
    if not path.exists():
        fitted = DETECTORS[detector].fit(source)
        np.savez(path, **{pool.set_name: fitted.score(pool) for pool in pools})
    with np.load(path) as stored:
        return {pool.set_name: stored[pool.set_name] for pool in pools}


def mixed(pools: Pools, detector: str, mixes: list[Mix], ind: Observation) -> MetaTrain:
    """The mixes as a detector sees them; the true FPR takes its threshold from the whole IND pool."""
    scores = pools.scores[detector]
    sets, ood, targets = [], [], []
    for mix in mixes:
        other = pools.ood[mix.ood_set]
        rows, is_ood = mix.rows(len(ind), len(other))
        logits, features, both = (
            np.concatenate([own[rows[~is_ood]], others[rows[is_ood]]])
            for own, others in (
                (ind.logits, other.logits),
                (ind.features, other.features),
                (scores[ind.set_name], scores[mix.ood_set]),
            )
        )
        seen = Observation(mix.name, ind.classifier, logits, Moments.of(features))
        sets.append(ScoredMix(seen, detector, pools.metric, both))
        ood.append(np.arange(len(mix)) >= mix.ind)
        targets.append(true_metric(pools.metric, POOL, scores[ind.set_name], both, ood[-1]))
    source = replace(pools.source, scores=scores[pools.source.observation.set_name], classifier=None)
    families = [frozenset({family(mix.ood_set)}) for mix in mixes]
    return MetaTrain(source, sets, np.array(targets), (), families, ood, [mix.ood_set for mix in mixes])


def paper_mixes(pools: Pools, ind: Observation, times: int, seed: int) -> list[Mix]:
    """1:1 mixes of 800 images, or of all that an OOD set has and as many IND images."""
    rng, found = np.random.default_rng(seed), []
    for name, seen in pools.ood.items():
        half = min(PAPER_SIZE // 2, len(seen), len(ind))
        found += [Mix(f"{name}_{i}", int(rng.integers(2**63)), name, half, half) for i in range(times)]
    return found


def hidden_mixes(pools: Pools, ind: Observation, low: int, high: int, times: int, seed: int) -> list[Mix]:
    """Mixes of a hidden IND share, `times` of every OOD set.

    Of large mixes the share is only as small as the images of the OOD set allow.
    """
    sizes, rng = {name: len(seen) for name, seen in pools.ood.items()}, np.random.default_rng(seed)
    names = [name for _ in range(times) for name in np.array(sorted(sizes))[rng.permutation(len(sizes))]]
    found = []
    for number, name in enumerate(names, start=1):
        n = int(rng.integers(low, high, endpoint=True))
        least, most = max(SHARES[0], LEAST / n, 1 - sizes[name] / n), min(SHARES[1], 1 - LEAST / n)
        drawn = int(np.clip(round(n * rng.uniform(least, min(most, len(ind) / n))), LEAST, n - LEAST))
        found.append(Mix(f"mix{low}_{number:04d}", int(rng.integers(2**63)), str(name), drawn, n - drawn))
    return found


def chance(test: MetaTrain) -> NDArray[np.float64]:
    """The standard errors of a share of a mix's OOD images."""
    return np.sqrt(test.targets * (1 - test.targets) / [int(ood.sum()) for ood in test.ood])


def rmse(errors: NDArray[np.float64]) -> float:
    return 100 * float(np.sqrt(np.mean(errors**2)))


def errors(method: Estimator, meta: MetaTrain, test: MetaTrain, parts: list[Fold]) -> NDArray[np.float64]:
    """Prediction less truth of every test mix, each predicted without its family."""
    found = np.full(len(test.sets), np.nan)
    for fold, predictions in zip(parts, method.held_out(meta, test, parts), strict=True):
        found[fold.test] = predictions - test.targets[fold.test]
    return found


def table(rows: Mapping[str, Sequence[float]], columns: Iterable[object]) -> list[dict[str, object]]:
    return [{"": name, **dict(zip(map(str, columns), values, strict=True))} for name, values in rows.items()]


def paper_sides(pools: Pools, detector: str) -> tuple[MetaTrain, MetaTrain]:
    """1:1 mixes of 800 images: of every OOD set three to learn from and one to test on."""
    return (
        mixed(pools, detector, paper_mixes(pools, pools.meta, 3, 1), pools.meta),
        mixed(pools, detector, paper_mixes(pools, pools.test, 1, 2), pools.test),
    )


def paper_table(pools: Pools) -> list[dict[str, object]]:
    """The paper's table 1, one family left out after the other."""
    rows: dict[str, list[float]] = {}
    for detector in pools.scores:
        meta, test = paper_sides(pools, detector)
        parts = folds(meta.families, test.families)
        for name, method in OOD_BASELINES.items():
            rows.setdefault(name, []).append(rmse(errors(method, meta, test, parts)))
        if pools.metric.startswith("fpr"):
            rows.setdefault("noise floor", []).append(deviation_floor(chance(test)))
    means = {name: [*values, float(np.mean(values))] for name, values in rows.items()}
    return table(means, [*pools.scores, "mean"])


def hidden_errors(pools: Pools, detector: str) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]:
    """The errors (m,) of every method on mixes of a hidden IND share, and the sizes (m,) of these."""
    meta = mixed(pools, detector, hidden_mixes(pools, pools.meta, 50, PAPER_SIZE, 4, 3), pools.meta)
    mixes = [mix for size in SIZES for mix in hidden_mixes(pools, pools.test, size, size, 4, 4 + size)]
    test = mixed(pools, detector, mixes, pools.test)
    parts = folds(meta.families, test.families)
    found = {name: errors(each, meta, test, parts) for name, each in OOD_BASELINES.items()}
    if pools.metric.startswith("fpr"):
        found["noise floor"] = chance(test)
    return found, np.array([len(mix) for mix in mixes])


def hidden_table(pools: Pools) -> list[dict[str, object]]:
    """Hidden IND shares: the RMSE by size over all detectors."""
    found = [hidden_errors(pools, detector) for detector in tqdm(pools.scores, "hidden share")]
    sizes = np.concatenate([each for _, each in found])
    rows = {}
    for name in found[0][0]:
        joined = np.concatenate([each[name] for each, _ in found])
        rows[name] = [*(rmse(joined[sizes == size]) for size in SIZES), rmse(joined)]
    for rival in ("gscore-ude-w", "plugin-mpe"):
        rows[f"gscore-best / {rival}"] = np.divide(rows["gscore-best"], rows[rival]).tolist()
    return table(rows, (*SIZES, "all"))


def paper_tables(pools: Pools, folder: Path, write: bool) -> None:
    """The paper's tables and figures with their plots, from 1:1 mixes; table 4 with every metric."""
    classifier = pools.source.observation.classifier
    for name in PAPER:
        metrics = tuple(DETECTION_METRICS) if name == "4" else (pools.metric,)
        subjects = {
            f"{classifier}:{detector}:{metric}": paper_sides(replace(pools, metric=metric), detector)[0]
            for metric in metrics
            for detector in pools.scores
        }
        frame = make_table(name, subjects)
        print(name, *write_table(name, frame, folder), flush=True)
        if write:
            record(f"ood-track-{name}", by_detector(frame).to_dict("records"))


def by_detector(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with a column for each detector, in which a row's numbers stand as one text."""
    numbers = [name for name in NUMBERS if name in frame]
    texts = frame[numbers].map("{:.3g}".format).agg(" / ".join, axis=1)
    parts = frame.subject.str.split(":", expand=True).set_axis(["classifier", "detector", "metric"], axis=1)
    whole = frame.join(parts).assign(text=texts)
    others = [name for name in frame if name not in ("subject", *numbers) and frame[name].nunique() > 1]
    keys = others if parts.metric.nunique() == 1 else ["metric", *others]
    wide = whole.pivot_table("text", keys, "detector", "first", sort=False)
    return wide.reset_index().rename_axis(columns=None)


def contest_table(folders: Sequence[Path]) -> pd.DataFrame:
    """Tables 2 and 3 of competitions, beside the correlations of figures 4, 5 and 11."""
    found = []
    for folder in folders:
        means, related = (ablate(Competition.open(folder), name, SPLITS)[0] for name in ("2", "4"))
        found.append(means.merge(related, on=["subject", "split"]).assign(competition=folder.name))
    columns = ["competition", "subject", "split", "accuracy", "true", "predicted", "pearson", "spearman"]
    return pd.concat(found)[columns]


def main() -> None:
    """Observe, mix, predict, print."""
    parser = real.parser(__doc__)
    parser.add_argument("--metric", default="fpr95")
    parser.add_argument("--detectors", nargs="+", default=SHOWN)
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help="write the paper's tables and stop")
    parser.add_argument("--contests", type=Path, nargs="+", help="compare competitions and stop")
    given = parser.parse_args()
    if given.contests:
        found = contest_table(given.contests)
        print(found.to_string(index=False))
        if given.write:
            record("ood-track-contests", found.to_dict("records"), decimals=3)
        return
    real.require("ood.zip", "weights/resnet56.safetensors")
    given.folder.mkdir(parents=True, exist_ok=True)
    pools = observed(given.metric, given.folder, given.detectors)
    if given.tables:
        paper_tables(pools, given.tables, given.write)
        return
    made = {
        "paper": (f"1:1 mixes of {PAPER_SIZE}, leave one family out", paper_table),
        "hidden": ("IND share hidden, by size, leave one family out", hidden_table),
    }
    for name, (what, make) in made.items():
        found = make(pools)
        shown = pd.DataFrame(found).round(2).to_string(index=False)
        print(f"RMSE, points of {given.metric}, {what}\n\n{shown}\n")
        if given.write:
            record(f"ood-track-{name}" + ("" if given.metric == "fpr95" else "-auroc"), found)


if __name__ == "__main__":
    main()
