"""Tables and figures of the Gscore paper (Zhang, Deng & Zheng 2023) from a competition's labelled mixes.

Predictions are cross-validated by leaving out one family after the other, and with `splits` also by so many
of the paper's random splits, in which a quarter of the OOD sets is tested regardless of source. The mixes of
a competition share one pool of IND images: what is fitted on its scores has smaller errors on them.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr
from sklearn.base import clone

from baselines import OOD_BASELINES
from baselines.contract.estimator import Estimator, asked
from baselines.contract.families import Fold, divided, folds, random_folds, subset
from baselines.ood.gmm import Gmm
from baselines.ood.gscore import TAUS, Gscore, reference_scores, search_tau
from baselines.ood.kmeans import two_means
from baselines.ood.plugin import detection_metric
from baselines.ood.ude import Ude
from starter.contest.cluster import Cluster
from starter.contest.tracks import open_subjects
from starter.data.images.figure import new_panels, save_png
from starter.observing.detectors.metrics import deviation
from starter.observing.observation import MetaTrain
from starter.studies.failure_study import ood_kind
from submission import Competition
from submission.arrays import FloatArray
from submission.errors import UnusableInput
from submission.files import write_text
from submission.metrics import deviation_floor
from submission.scoretable import ALL, Families
from submission.tracks import TRACKS

FAMILY = "family"
"""Name of the splits that leave out one family after the other."""
RANDOM = "random"
"""Name of the paper's random splits."""
FLOOR = "noise floor"
"""Name of the noise floor's line in tables of methods."""
SWEPT = ("ratio", "size", "draw")
LABELS = ("subject", "method", "family", "split", "kind", "from")
NUMBERS = ("accuracy", "true", "predicted", "pearson", "spearman", "target", "mixes")
"""Columns that are drawn as bars, in tables without an RMSE."""
RATIOS = (0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)
SIZES = (50, 100, 200, 400, 800)
REFERENCES = (50, 100, 200, 500, 1000, 2000)
MIXED = range(1, 6)
"""Draws of mixes of random ratio and size."""
STEPS = 20
"""Number of steps of the metric whose mixes figure 8 counts."""
METHODS: dict[str, Gscore] = {"gscore-ude-w": Ude(), "gscore-gmm-w": Gmm()}
ACROSS = 4
"""Number of panels in a row."""
DRAWS = 1000
"""Number of draws of families for the deviation of an RMSE."""
FOLDS = 5
"""Number of parts of the families in the table of near and far mixes."""
ALIKE = 1e-9
"""Largest range of values that count as equal, as a share of the largest of them."""


def methods_table(meta: MetaTrain, metric: str, splits: int = 0) -> pd.DataFrame:
    """Tables 1 and 6: the RMSE of every method on each subject; lower is better.

    rmse: points. low, high: its 95 % interval over families. split: each family left out in turn (family), or
    the mean over random splits (random). noise floor: what chance alone gives.
    """
    parts = folds(meta.families)
    families = ["+".join(sorted(meta.families[i])) for fold in parts for i in fold.test]
    drawn = Families.of(families, [ALL] * len(families))
    rows: list[tuple[object, ...]] = []
    for method, prototype in OOD_BASELINES.items():
        errors = np.concatenate(_errors(prototype, meta, parts))
        rows.append((method, FAMILY, _rmse(errors), np.nan, *drawn.interval(100 * errors)))
        if splits:
            found = [_rmse(each) for each in _errors(prototype, meta, random_folds(meta, splits))]
            rows.append((method, RANDOM, np.mean(found), np.std(found), np.nan, np.nan))
    rows.append((FLOOR, FAMILY, deviation_floor(list(deviations(meta, metric))), np.nan, np.nan, np.nan))
    return pd.DataFrame(rows, columns=["method", "split", "rmse", "rmse_deviation", "low", "high"])


def _errors(prototype: Estimator, meta: MetaTrain, parts: Sequence[Fold]) -> list[FloatArray]:
    """Returns prediction minus truth of each fold's mixes, fractions."""
    predictions = prototype.held_out(meta, meta, parts)
    return [each - meta.targets[fold.test] for each, fold in zip(predictions, parts, strict=True)]


def _rmse(errors: FloatArray) -> float:
    return 100 * float(np.sqrt(np.mean(errors**2)))


def deviations(meta: MetaTrain, metric: str) -> FloatArray:
    """Returns each mix's standard deviation of the metric over draws of its images, fractions (m,)."""
    reference = reference_scores(meta.source)
    rng = np.random.default_rng(0)
    mixes = zip(meta.sets, meta.ood, strict=True)
    found = [
        deviation(metric, meta.fpr, pool=reference, scores=mix.scores, is_ood=ood, rng=rng)
        for mix, ood in mixes
    ]
    return np.array(found)


def near_far_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """The RMSE of every method on near and on far mixes, cross-validated over five parts of the families.

    kind: near or far OOD, ood where the name of an OOD set has neither; methods do not know it. rmse: points,
    lower is better. rmse_deviation: over draws of families. pearson: of predictions with the truth. noise
    floor: what chance alone gives.
    """
    rows = []
    parts = divided(meta, FOLDS)
    tested = np.concatenate([fold.test for fold in parts])
    kinds = np.array([ood_kind(each) for each in meta.ood_sets])[tested]
    families = np.array(["+".join(sorted(family)) for family in meta.families])[tested]
    truth = np.asarray(meta.targets, np.float64)[tested]
    chance = deviations(meta, metric)[tested]
    errors = {name: np.concatenate(_errors(each, meta, parts)) for name, each in OOD_BASELINES.items()}
    for kind in sorted(set(kinds)):
        mine = kinds == kind
        for method, found in errors.items():
            related = correlation((truth + found)[mine], truth[mine])[0]
            rows.append((kind, method, _rmse(found[mine]), _spread(found[mine], families[mine]), related))
        rows.append((kind, FLOOR, deviation_floor(list(chance[mine])), np.nan, np.nan))
    return pd.DataFrame(rows, columns=["kind", "method", "rmse", "rmse_deviation", "pearson"])


def _spread(errors: FloatArray, families: NDArray[np.str_]) -> float:
    """Returns the standard deviation of the RMSE, in points, over `DRAWS` draws of whole families."""
    names, place = np.unique(families, return_inverse=True)
    squares = np.bincount(place, errors**2)
    sizes = np.bincount(place)
    drawn = np.random.default_rng(0).integers(len(names), size=(DRAWS, len(names)))
    return 100 * float(np.sqrt(squares[drawn].sum(1) / sizes[drawn].sum(1)).std())


def correlation(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Returns Pearson's and Spearman's correlation of x and y (n,); nan if n < 3 or one has one value."""
    if len(x) < 3 or any(np.ptp(each) <= ALIKE * np.abs(each).max() for each in (x, y)):
        return float("nan"), float("nan")
    return float(pearsonr(x, y)[0]), float(spearmanr(x, y)[0])


def points_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figure 3: the Gscore (UDE and Wasserstein) of every mix against the true metric.

    target: the true metric, 0 to 1.
    """
    method = clone(METHODS["gscore-ude-w"]).fit(meta)
    columns = {
        "mix": [mix.set_name for mix in meta.sets],
        "family": ["+".join(sorted(family)) for family in meta.families],
        "gscore": method._table.rows[:, method.place_],
        "target": meta.targets,
    }
    return pd.DataFrame(columns)


def correlations_table(meta: MetaTrain, metric: str, splits: int = 0) -> pd.DataFrame:
    """Figure 3 and table 4: the correlation of Gscore (UDE, Wasserstein) with the true metric.

    split: over all mixes, tau found on these (family), or the mean over the tested mixes of random splits,
    tau found on the others (random). Empty where all mixes have one Gscore or one target.
    """
    of = points_table(meta, metric)
    rows = [(FAMILY, *correlation(of.gscore.to_numpy(), of.target.to_numpy()), np.nan, np.nan)]
    if splits:
        each = []
        for fold in random_folds(meta, splits):
            method = clone(METHODS["gscore-ude-w"]).fit(subset(meta, fold.train))
            gscores = [method.gscores(meta.sets[i].scores)[method.place_] for i in fold.test]
            each.append(correlation(np.array(gscores), np.asarray(meta.targets, np.float64)[fold.test]))
        rows.append((RANDOM, *np.mean(each, axis=0), *np.std(each, axis=0)))
    numbers = ["pearson", "spearman", "pearson_deviation", "spearman_deviation"]
    return pd.DataFrame(rows, columns=["split", *numbers])


def backbones_table(meta: MetaTrain, metric: str, splits: int = 0) -> pd.DataFrame:
    """Table 2: the mean true and predicted metric (UDE and Wasserstein) beside the classifier's accuracy.

    accuracy: on the reference images. split: each family left out in turn (family), or the mean over random
    splits (random).
    """

    def means(parts: Sequence[Fold]) -> FloatArray:
        """Returns the mean truth and the mean prediction of each fold, (2, j)."""
        found = METHODS["gscore-ude-w"].held_out(meta, meta, parts)
        return np.array([[meta.targets[fold.test].mean() for fold in parts], [each.mean() for each in found]])

    parts = folds(meta.families)
    weights = [len(fold.test) for fold in parts]
    whole = np.average(means(parts), axis=1, weights=weights)
    rows = [(FAMILY, meta.source.accuracy, *whole, np.nan, np.nan)]
    if splits:
        drawn = means(random_folds(meta, splits))
        rows.append((RANDOM, meta.source.accuracy, *drawn.mean(axis=1), *drawn.std(axis=1)))
    columns = ["split", "accuracy", "true", "predicted", "true_deviation", "predicted_deviation"]
    return pd.DataFrame(rows, columns=columns)


def families_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Table 5: the true and the predicted metric of each family of OOD sets, which is left out of the fit.

    true, predicted: means over the family's mixes, 0 to 1.
    """
    parts = folds(meta.families)
    tested = np.concatenate([fold.test for fold in parts])
    columns = {"family": ["+".join(sorted(meta.families[i])) for i in tested], "true": meta.targets[tested]}
    found = {
        name: pd.DataFrame(columns).assign(
            predicted=np.concatenate(OOD_BASELINES[name].held_out(meta, meta, parts))
        )
        for name in ("gscore-kmeans", *METHODS)
    }
    each = pd.concat(found, names=["method", None]).reset_index(level=0)
    return each.groupby(["family", "method"], sort=False, as_index=False).mean()


def distribution_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figure 8: the number of mixes by their true metric.

    from: the lower end of a step of .05, 0 to 1.
    """
    counts, ends = np.histogram(meta.targets, STEPS, (0, 1))
    return pd.DataFrame({"from": ends[:-1], "mixes": counts})


def difficulty_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figure 7: the families of OOD sets from easy to hard for each subject.

    target: the metric, mean over the family's mixes, 0 to 1.
    """
    each = pd.DataFrame({"family": list(map(sorted, meta.families)), "target": meta.targets})
    mean = each.explode("family").groupby("family", as_index=False).mean()
    rising = metric.startswith(("fpr", "detection"))
    return mean.sort_values("target", ascending=rising, kind="stable")


def ratios_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figures 6 and 9, left: Pearson's |r| of Gscore with the metric by the ratio of IND to OOD images.

    There is one mix per family, with all its images except those removed to reach the ratio. A ratio with
    fewer than two IND or OOD images is omitted. pearson: 0 to 1, higher is better.
    """

    def size(ratio: float, most: int) -> tuple[int, int]:
        return round(most * min(1.0, ratio)), round(most * min(1.0, 1 / ratio))

    return _swept(meta, metric, "ratio", RATIOS, size)


def sizes_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figures 6 and 9, middle: Pearson's |r| of Gscore with the metric by the size of 1:1 mixes.

    Families with too few images are omitted. pearson: 0 to 1, higher is better; size: images of a mix.
    """

    def size(total: float, most: int) -> tuple[int, int]:
        return (round(total / 2),) * 2 if total / 2 <= most else (0, 0)

    return _swept(meta, metric, "size", SIZES, size)


def random_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figures 6 and 9, right: Pearson's |r| of Gscore with the metric on mixes of random ratio and size.

    A draw has one mix per family; its ratio is log-uniform within those of fig9-ratio, its size uniform
    within those of fig9-size, as far as there are images. A mix with fewer than two IND or OOD images is
    omitted. pearson: 0 to 1, higher is better.
    """
    rng = np.random.default_rng(1)

    def size(_: float, most: int) -> tuple[int, int]:
        ratio = np.exp(rng.uniform(np.log(RATIOS[0]), np.log(RATIOS[-1])))
        total = rng.uniform(SIZES[0], SIZES[-1])
        return min(round(total * ratio / (1 + ratio)), most), min(round(total / (1 + ratio)), most)

    return _swept(meta, metric, "draw", MIXED, size)


def _swept(
    meta: MetaTrain,
    metric: str,
    axis: str,
    values: Sequence[float],
    size: Callable[[float, int], tuple[int, int]],
) -> pd.DataFrame:
    """Returns correlations on new mixes of each family by value; `size` gives their IND and OOD counts."""
    rows = []
    rng = np.random.default_rng(0)
    reference = reference_scores(meta.source)
    ind, families = pooled(meta)
    for value in values:
        mixes = []
        drawn = []
        for ood in families.values():
            counts = size(value, min(len(ind), len(ood)))
            if min(counts) >= 2:
                parts = [rng.permutation(pool)[:n] for pool, n in zip((ind, ood), counts, strict=True)]
                mixes.append(np.concatenate(parts))
                drawn.append(detection_metric(metric, reference, parts[1], counts[0] / sum(counts)))
        targets = np.array(drawn)
        for method, prototype in METHODS.items():
            rows.append((method, value, best_correlation(prototype, reference, mixes, targets)))
        centres = np.array([np.diff(two_means(np.sort(mix)))[0] for mix in mixes])
        rows.append(("gscore-kmeans", value, abs(correlation(centres, targets)[0])))
    return pd.DataFrame(rows, columns=["method", axis, "pearson"])


def pooled(meta: MetaTrain) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Returns the distinct IND scores of all mixes, and the distinct OOD scores by family."""
    ind: list[FloatArray] = []
    ood: dict[str, list[FloatArray]] = {}
    for mix, is_ood, families in zip(meta.sets, meta.ood, meta.families, strict=True):
        scores = mix.scores
        ind.append(scores[~is_ood])
        ood.setdefault("+".join(sorted(families)), []).append(scores[is_ood])
    joined = {family: np.unique(np.concatenate(each)) for family, each in sorted(ood.items())}
    return np.unique(np.concatenate(ind)), joined


def references_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figure 10: Pearson's |r| of UDE's Gscore with the metric by the number of reference images.

    The mixes are the subject's own. pearson: 0 to 1, higher is better; size: reference images.
    """
    reference = np.random.default_rng(0).permutation(reference_scores(meta.source))
    scores = [mix.scores for mix in meta.sets]
    targets = np.asarray(meta.targets, float)
    sizes = sorted({min(size, len(reference)) for size in REFERENCES})
    found = [best_correlation(Ude(), reference[:size], scores, targets) for size in sizes]
    return pd.DataFrame({"size": sizes, "pearson": found})


def best_correlation(
    prototype: Gscore, reference: FloatArray, mixes: Sequence[FloatArray], targets: FloatArray
) -> float:
    """Returns Pearson's |r| of Gscore and the targets (m,), with tau fitted on these mixes; nan if m < 3."""
    if len(mixes) < 3:
        return float("nan")
    method = clone(prototype).know(reference)
    rows = np.array([method.gscores(mix) for mix in mixes])
    gscores = rows[:, : len(TAUS)]
    usable = rows[:, len(TAUS) :] > 0
    return abs(correlation(gscores[:, search_tau(gscores, usable, targets)], targets)[0])


TABLES: dict[str, Callable[..., pd.DataFrame]] = {
    "1": methods_table,
    "2": backbones_table,
    "4": correlations_table,
    "5": families_table,
    "fig3": points_table,
    "fig7": difficulty_table,
    "fig8": distribution_table,
    "fig9-ratio": ratios_table,
    "fig9-size": sizes_table,
    "fig9-random": random_table,
    "fig10": references_table,
    "near-far": near_far_table,
}
"""Functions by the table's number in the paper; 1 includes table 6, 9 figure 6; "near-far" is ours."""
SPLIT = ("1", "2", "4")
"""Tables whose functions take `splits`."""


def make_table(name: str, subjects: Mapping[str, MetaTrain], splits: int = 0) -> pd.DataFrame:
    """Returns a table of `TABLES` for the mixes of subjects, by ``<classifier>:<detector>:<metric>``."""
    more = {"splits": splits} if name in SPLIT else {}
    frames = {
        subject: TABLES[name](meta, TRACKS["ood"].metric(subject), **more)
        for subject, meta in subjects.items()
    }
    return pd.concat(frames, names=["subject", None]).reset_index(level=0).reset_index(drop=True)


def ablate(
    competition: Competition, table: str, splits: int = 0, device: str = "cpu", cluster: Cluster | None = None
) -> tuple[pd.DataFrame, list[Path]]:
    """Make a table of `TABLES` from the meta-train mixes of a competition: CSV and PNG in DIR/ablation."""
    if table not in TABLES:
        raise UnusableInput(f"--table {table!r} is unknown; the Gscore paper has {', '.join(TABLES)}")
    reading = OOD_BASELINES.values() if table in ("1", "near-far") else ()
    needs = asked(reading, competition)
    if cluster:
        cluster.observe(competition, needs, ("train",), device)
    opened = open_subjects(competition, needs, device)
    frame = make_table(table, {name: each.meta_train() for name, each in opened.items()}, splits)
    return frame, write_table(table, frame, competition.out / "ablation")


def table_text(name: str, frame: pd.DataFrame) -> str:
    """Returns a table as text, without deviations that it lacks, and a description of its columns."""
    spreads = frame.columns[frame.columns.str.endswith("_deviation")]
    lacking = [column for column in spreads if frame[column].isna().all()]
    body = frame.drop(columns=lacking).to_string(index=False, float_format="{:.3f}".format, na_rep="")
    return f"{body}\n\n{inspect.getdoc(TABLES[name])}"


def write_table(name: str, frame: pd.DataFrame, folder: Path) -> list[Path]:
    """Write ``gscore-<name>.csv`` and ``gscore-<name>.png`` into the folder, and return their paths."""
    paths = [folder / f"gscore-{name}.csv", folder / f"gscore-{name}.png"]
    folder.mkdir(parents=True, exist_ok=True)
    write_text(paths[0], frame.to_csv(index=False, float_format="%.6g"))
    plot_table(frame, paths[1])
    return paths


def plot_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a PNG with a panel for each subject, or one panel if a row is a subject."""
    panels = list(frame.groupby("subject", sort=False))
    if not {"method", "family", "gscore", *SWEPT} & {*frame}:
        panels = [("", frame)]
    height = max(3.6, 0.12 * max(len(rows) for _, rows in panels))
    drawn, axes = new_panels(len(panels), ACROSS, 4, height)
    for each, (subject, rows) in zip(axes, panels, strict=False):
        _draw(each, rows)
        each.set_title(str(subject), fontsize=9)
    save_png(drawn, path, dpi=100)


def _draw(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw one panel; bars have the deviation over splits or draws, the first row is on top."""
    swept = [column for column in SWEPT if column in rows]
    if "gscore" in rows:
        rows.plot.scatter("gscore", "target", s=8, ax=axes, xlabel="Gscore", ylabel="true metric")
    elif swept:
        lines = rows if "method" in rows else rows.assign(method="gscore-ude-w")
        table = lines.pivot(index=swept[0], columns="method", values="pearson")
        table.plot(ax=axes, marker="o", markersize=3, logx=True, ylim=(0, 1.02), ylabel="Pearson |r|")
    else:
        labels = [name for name in LABELS if name in rows and rows[name].nunique() > 1] or "subject"
        numbers = ["rmse"] if "rmse" in rows else [name for name in NUMBERS if name in rows]
        spread = rows.reindex(columns=[f"{name}_deviation" for name in numbers]).fillna(0).to_numpy().T
        bars = rows.set_index(labels)[numbers]
        bars.plot.barh(ax=axes, xerr=spread, fontsize=6, width=0.8, ylabel="")
        axes.invert_yaxis()
