"""Gscore and its rivals on real images: the tables of docs/results/ood-track.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/gscore.py DIR [--weights NAME=FILE] [--detector NAME]

FOLDER holds cifar10.zip (train/<class>/, test/<class>/), ood.zip (<set>/) and weights/resnet56.safetensors.
DIR keeps what was observed and scored, so that a second run goes on from there.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import real
from numpy.typing import NDArray
from pages import record_markdown
from sklearn.base import clone
from tqdm import tqdm

from baselines import OOD_BASELINES
from baselines.contract.estimator import Estimator, Measured
from baselines.contract.families import Fold
from baselines.contract.held_out import family_folds, held_out, random_folds
from baselines.ood.plugin import Plugin
from baselines.report.gscore import SPLIT, TABLES, write_table
from starter.classifiers import load_classifier
from starter.detectors import DETECTORS
from starter.detectors.metrics import DETECTION_METRICS, true_metric
from starter.images.reading import Fit
from starter.observing.cache import Cache
from starter.observing.observation import MetaTrain, Moments, Observation, ScoredMix, Source
from starter.observing.observe import Observer, read
from starter.sets.mix import LEAST, POOL, Mix, family
from starter.sets.rendering import FromRecipe
from starter.sources.oodsets import load_ood_sets, without_shared
from starter.sources.sources import load_source
from starter.tracks.ood.settings import SHARES
from submission.metrics import deviation_floor

SIZES = (50, 100, 200, 400, 800)
PAPER_SIZE = 800
SPLITS = 5
TRAIN_REF = 5000
SHOWN = ("msp", "odin", "energy", "mls")


@dataclass(frozen=True)
class Pools:
    """What was observed once: the reference, and the images that mixes are drawn from.

    Attributes:
        source: the reference, with the network.
        meta, test: IND images for meta-train and for test mixes.
        ood: OOD sets by name.
        scores: detector -> name of the pool ("reference", "meta_base", ...) -> scores (n,).
        metric: to be predicted.
    """

    source: Source
    meta: Observation
    test: Observation
    ood: dict[str, Observation]
    scores: dict[str, dict[str, NDArray[np.float64]]]
    metric: str


def observed(data: Path, weights: str, detectors: Sequence[str], metric: str, folder: Path) -> Pools:
    """Every pool seen by the classifier and scored by the detectors; from the cache where it is there."""
    splits = load_source(str(data / "cifar10.zip"))
    sets = load_ood_sets(str(data / "ood.zip"), splits.classes, Fit(splits.image_size))
    sets = without_shared(sets, (splits.train, splits.reference, splits.meta_base, splits.test_base))
    classifier = load_classifier(weights, splits.classes, "bfloat16")
    observer = Observer(classifier, Cache(folder / "cache"))
    chosen = np.random.default_rng(0).permutation(len(splits.train))[:TRAIN_REF]
    ind = (splits.reference, splits.train.take(chosen, "train_ref"), splits.meta_base, splits.test_base)
    seen = [
        read(FromRecipe.whole(images), observer, ("features", "moments"))
        for images in tqdm([*ind, *sets.values()], "observe", unit="set")
    ]
    head = (classifier.head_weight, classifier.head_bias)
    source = Source(seen[0], splits.reference.labels, seen[1], *head, classifier)
    pools = [seen[0], *seen[2:]]
    scores = {name: scored(name, source, pools, folder) for name in detectors}
    return Pools(source, seen[2], seen[3], dict(zip(sets, seen[4:], strict=True)), scores, metric)


def scored(
    detector: str, source: Source, pools: list[Observation], folder: Path
) -> dict[str, NDArray[np.float64]]:
    """The detector's scores of each pool, by its name."""
    path = folder / f"{source.observation.classifier}-{detector}.npz"
    if not path.exists():
        start, fitted = perf_counter(), DETECTORS[detector].fit(source)
        found = {pool.set_name: fitted.score(pool) for pool in pools}
        np.savez(path, **found)
        print(f"{detector}: {sum(map(len, pools)):,} images scored in {perf_counter() - start:.1f} s")
    with np.load(path) as stored:
        return {pool.set_name: stored[pool.set_name] for pool in pools}


def mixed(pools: Pools, detector: str, mixes: list[Mix], ind: Observation) -> MetaTrain:
    """The mixes as a detector sees them; the true FPR takes its threshold from the whole IND pool."""
    scores = pools.scores[detector]
    sets, ood, targets = [], [], []
    for mix in mixes:
        rows, is_ood = mix.rows(len(ind), len(pools.ood[mix.ood_set]))
        sides = ((ind, ind.set_name), (pools.ood[mix.ood_set], mix.ood_set))
        logits, features, both = (
            np.concatenate([side[rows[is_ood == kind]] for kind, side in enumerate(each)])
            for each in (
                [seen.logits for seen, _ in sides],
                [seen.features for seen, _ in sides],
                [scores[name] for _, name in sides],
            )
        )
        wide = features.astype(np.float64)
        moments = Moments(wide.mean(axis=0), np.cov(wide, rowvar=False), len(wide))
        seen = Observation(mix.name, ind.classifier, logits, moments)
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


def rmse(errors: NDArray[np.float64]) -> float:
    return 100 * float(np.sqrt(np.mean(errors**2)))


def errors(method: Estimator, meta: MetaTrain, test: MetaTrain, parts: list[Fold]) -> NDArray[np.float64]:
    """Prediction less truth of every test mix, each predicted without its family."""
    found = np.full(len(test.sets), np.nan)
    for fold, predictions in zip(parts, held_out(method, meta, test, parts), strict=True):
        found[fold.test] = predictions - test.targets[fold.test]
    return found


def known_share(meta: MetaTrain, test: MetaTrain) -> NDArray[np.float64]:
    """The errors of the plug-in estimate that is told each mix's IND share: a bound, not a rival."""
    return np.array(
        [
            Plugin(1 - float(ood.mean())).fit(meta).predict([mix])[0] - target
            for mix, ood, target in zip(test.sets, test.ood, test.targets, strict=True)
        ]
    )


def correlation(meta: MetaTrain) -> tuple[float, float]:
    """Pearson's |r| of Gscore (UDE + Wasserstein, tau found on these mixes) with the metric, and tau."""
    method = clone(OOD_BASELINES["gscore-ude-w"])
    assert isinstance(method, Measured)
    method.fit(meta)
    gscores = method._table.rows[:, method.place_]
    return abs(float(np.corrcoef(gscores, meta.targets)[0, 1])), method.tau_


def table(rows: Mapping[str, Sequence[float | str]], columns: list[str]) -> str:
    lines = ["| | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for name, values in rows.items():
        cells = [each if isinstance(each, str) else f"{each:.2f}" for each in values]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def paper_sides(pools: Pools, detector: str) -> tuple[MetaTrain, MetaTrain]:
    """1:1 mixes of 800 images: of every OOD set three to learn from and one to test on."""
    return (
        mixed(pools, detector, paper_mixes(pools, pools.meta, 3, 1), pools.meta),
        mixed(pools, detector, paper_mixes(pools, pools.test, 1, 2), pools.test),
    )


def correlations(pools: Pools) -> str:
    """The paper's figure 3: how Gscore (UDE + Wasserstein) goes with the metric over the test mixes."""
    found = {detector: correlation(paper_sides(pools, detector)[1]) for detector in pools.scores}
    lines = [f"{detector}: |r| {r:.3f}, tau {tau:.2f}" for detector, (r, tau) in found.items()]
    return "\n".join([*lines, f"mean |r| {np.mean([r for r, _ in found.values()]):.3f}"])


def paper_table(pools: Pools) -> str:
    """The paper's table 1, one family left out after the other."""
    rows: dict[str, list[float]] = {}
    for detector in pools.scores:
        meta, test = paper_sides(pools, detector)
        parts = family_folds(meta, test)
        for name, method in OOD_BASELINES.items():
            rows.setdefault(name, []).append(rmse(errors(method, meta, test, parts)))
        if pools.metric.startswith("fpr"):
            sizes = [int(ood.sum()) for ood in test.ood]
            rows.setdefault("noise floor", []).append(
                deviation_floor(np.sqrt(test.targets * (1 - test.targets) / sizes))
            )
    return table(
        {k: [*values, float(np.mean(values))] for k, values in rows.items()}, [*pools.scores, "mean"]
    )


def random_table(pools: Pools) -> str:
    """The paper's table 1: mean and standard deviation over random splits of the OOD sets."""
    rows: dict[str, list[str]] = {}
    for detector in pools.scores:
        meta, test = paper_sides(pools, detector)
        splits = random_folds(meta, test, SPLITS)
        for name, method in OOD_BASELINES.items():
            predictions = held_out(method, meta, test, splits)
            each = [rmse(p - test.targets[fold.test]) for p, fold in zip(predictions, splits, strict=True)]
            rows.setdefault(name, []).append(f"{np.mean(each):.2f} ± {np.std(each):.2f}")
    return table(rows, list(pools.scores))


def hidden_errors(pools: Pools, detector: str) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]:
    """The errors (m,) of every method on mixes of a hidden IND share, and the sizes (m,) of these."""
    meta = mixed(pools, detector, hidden_mixes(pools, pools.meta, 50, PAPER_SIZE, 4, 3), pools.meta)
    mixes = [mix for size in SIZES for mix in hidden_mixes(pools, pools.test, size, size, 4, 4 + size)]
    test = mixed(pools, detector, mixes, pools.test)
    parts = family_folds(meta, test)
    found = {name: errors(each, meta, test, parts) for name, each in OOD_BASELINES.items()}
    found["plugin, share known"] = known_share(meta, test)
    if pools.metric.startswith("fpr"):
        kept = [int(ood.sum()) for ood in test.ood]
        found["noise floor"] = np.sqrt(test.targets * (1 - test.targets) / kept)
    return found, np.array([len(mix) for mix in mixes])


def hidden_table(pools: Pools) -> str:
    """Hidden IND shares: the RMSE by size over all detectors."""
    found = [hidden_errors(pools, detector) for detector in tqdm(pools.scores, "hidden share")]
    sizes = np.concatenate([each for _, each in found])
    rows = {}
    for name in found[0][0]:
        joined = np.concatenate([each[name] for each, _ in found])
        rows[name] = [*(rmse(joined[sizes == size]) for size in SIZES), rmse(joined)]
    for rival in ("gscore-ude-w", "plugin-mpe"):
        ratios = np.divide(rows["gscore-best"], rows[rival])
        rows[f"gscore-best / {rival}"] = ratios.tolist()
    return table(rows, [*map(str, SIZES), "all"])


def write_tables(pools: Pools, folder: Path) -> None:
    """Every table of the paper with its plot, from 1:1 mixes; correlations with every metric (table 4)."""
    classifier = pools.source.observation.classifier
    for name, make in TABLES.items():
        metrics = tuple(DETECTION_METRICS) if name == "4" else (pools.metric,)
        subjects = {
            f"{classifier}:{detector}:{metric}": paper_sides(replace(pools, metric=metric), detector)[0]
            for metric in metrics
            for detector in pools.scores
        }
        frame = make(subjects, SPLITS) if name in SPLIT else make(subjects)
        print(name, *write_table(name, frame, folder))


def thresholds(pools: Pools) -> str:
    """What a threshold that keeps 95 % of one IND pool does on another: what no method can know of a mix."""
    lines = []
    for detector, scores in pools.scores.items():
        reference, test = scores[pools.source.observation.set_name], scores[pools.test.set_name]
        cuts = np.quantile(reference, 0.95), np.quantile(test, 0.95)
        passed = [100 * np.mean([(scores[name] <= cut).mean() for name in pools.ood]) for cut in cuts]
        lines.append(
            f"{detector}: the threshold of the reference keeps {100 * (test <= cuts[0]).mean():.1f} % of the "
            f"test pool; by that the mean FPR is {passed[0]:.1f}, by the test pool's own {passed[1]:.1f}"
        )
    return "\n".join(lines)


def rates(pools: Pools) -> str:
    """How many mixes of 800 images each method predicts in a second of processor time."""
    detector = next(iter(pools.scores))
    meta = mixed(pools, detector, paper_mixes(pools, pools.meta, 1, 1), pools.meta)
    lines = []
    for name, method in OOD_BASELINES.items():
        fitted, start = clone(method).fit(meta), process_time()
        fitted.predict(meta.sets)
        lines.append(f"{name} {len(meta.sets) / (process_time() - start):,.0f}")
    return f"mixes a second: {', '.join(lines)}"


def part_of(pools: Pools, share: str) -> Pools:
    """The pools with the families of one half ("1/2" or "2/2") of a fixed random order, or all ("all")."""
    if share == "all":
        return pools
    number, count = (int(part) for part in share.split("/"))
    families = sorted({family(name) for name in pools.ood})
    order = np.random.default_rng(12345).permutation(len(families))
    kept = {families[i] for i in np.array_split(order, count)[number - 1]}
    ood = {name: seen for name, seen in pools.ood.items() if family(name) in kept}
    return replace(pools, ood=ood)


def main() -> None:
    """Observe, mix, predict, print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--weights", default="resnet56=resnet56.safetensors", metavar="NAME=FILE")
    parser.add_argument("--detector", action="append", help="of the kit; repeatable [msp, odin, energy, mls]")
    parser.add_argument("--metric", default="fpr95")
    parser.add_argument("--families", default="all", help="1/2: half of them, on which methods were chosen")
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help="write the paper's tables and stop")
    parser.add_argument("--write", action="store_true", help="record the tables for docs/results")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    data = real.data()
    name, _, file = given.weights.partition("=")
    weights, detectors = f"{name}={data / 'weights' / file}", given.detector or SHOWN
    pools = part_of(observed(data, weights, detectors, given.metric, given.folder), given.families)
    if given.tables:
        write_tables(pools, given.tables)
        return
    print(f"{len(pools.ood)} OOD sets, {sum(map(len, pools.ood.values())):,} images; {rates(pools)}\n")
    print(f"{thresholds(pools)}\n")
    title = f"RMSE, points of {given.metric}"
    print(
        f"Gscore (UDE, Wasserstein) and {given.metric}, 1:1 mixes of {PAPER_SIZE}\n\n{correlations(pools)}\n"
    )
    made = {
        "paper": (f"1:1 mixes of {PAPER_SIZE}, leave one family out", paper_table),
        "random-splits": (f"the same mixes, {SPLITS} random splits", random_table),
        "hidden": ("IND share hidden, by size, leave one family out", hidden_table),
    }
    for name, (what, make) in made.items():
        found = make(pools)
        print(f"{title}, {what}\n\n{found}\n")
        if given.write and given.families == "all":
            record_markdown(f"ood-track-{name}" + ("" if given.metric == "fpr95" else "-auroc"), found)


if __name__ == "__main__":
    main()
