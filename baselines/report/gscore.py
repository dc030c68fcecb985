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

from baselines import OOD_BASELINES
from baselines.contract.estimator import Estimator, asked
from baselines.contract.families import Fold, divided, folds, random_folds
from baselines.ood.gscore import reference_scores
from baselines.report.correlations import (
    FAMILY,
    METHODS,
    RANDOM,
    correlation,
    correlations_table,
    points_table,
    random_table,
    ratios_table,
    references_table,
    sizes_table,
)
from starter.contest.cluster import Cluster
from starter.contest.ood.observe import MixSets
from starter.contest.tracks import open_subjects
from starter.data.images.figure import Drawn, new_panels, save_png
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

FLOOR = "noise floor"
"""Name of the noise floor's line in tables of methods."""
SWEPT = ("ratio", "size", "draw")
LABELS = ("subject", "method", "family", "ood_set", "split", "kind", "from")
NUMBERS = ("accuracy", "true", "predicted", "pearson", "spearman", "target", "mixes")
"""Columns that are drawn as bars, in tables without an RMSE."""
STEPS = 20
"""Number of steps of the metric whose mixes figure 8 counts."""
ACROSS = 4
"""Number of panels in a row."""
EASIEST, EXAMPLES = 6, 8
"""Number of OOD sets of figure 12, and of images shown of each."""
DRAWS = 1000
"""Number of draws of families for the deviation of an RMSE."""
FOLDS = 5
"""Number of parts of the families in the table of near and far mixes."""


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


def outliers_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figure 12: the OOD sets that each subject tells best from the IND images, with images of them.

    target: the metric, mean over the set's mixes, 0 to 1.
    """
    mean = pd.DataFrame({"ood_set": meta.ood_sets, "target": meta.targets}).groupby("ood_set").mean()
    return mean.sort_values("target", ascending=rising(metric), kind="stable")[:EASIEST].reset_index()


def difficulty_table(meta: MetaTrain, metric: str) -> pd.DataFrame:
    """Figure 7: the families of OOD sets from easy to hard for each subject.

    target: the metric, mean over the family's mixes, 0 to 1.
    """
    each = pd.DataFrame({"family": list(map(sorted, meta.families)), "target": meta.targets})
    mean = each.explode("family").groupby("family", as_index=False).mean()
    return mean.sort_values("target", ascending=rising(metric), kind="stable")


def rising(metric: str) -> bool:
    """Returns True if a metric is larger on harder OOD sets."""
    return metric.startswith(("fpr", "detection"))


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
    "fig12": outliers_table,
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
    paths = write_table(table, frame, competition.out / "ablation")
    if table == "fig12":
        save_png(examples_figure(frame, MixSets(competition)), paths[1], dpi=100)
    return frame, paths


def examples_figure(frame: pd.DataFrame, sets: MixSets) -> Drawn:
    """Returns a panel for each subject: rows of the first IND images, and of those of its OOD sets."""
    panels = list(frame.groupby("subject", sort=False))
    drawn, axes = new_panels(len(panels), ACROSS, 4, 3.6)
    for each, (subject, rows) in zip(axes, panels, strict=False):
        pools = [sets.ind_pool, *(sets.ood_pools[name] for name in rows.ood_set)]
        strips = [np.concatenate(list(pool.images[:EXAMPLES]), axis=1) for pool in pools]
        each.imshow(np.concatenate(strips))
        middles = len(strips[0]) * (np.arange(len(strips)) + 0.5)
        each.set_yticks(middles, ["IND", *rows.ood_set], fontsize=6)
        each.set_xticks([])
        each.set_title(str(subject), fontsize=9)
    return drawn


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
    if not {"method", "family", "ood_set", "gscore", *SWEPT} & {*frame}:
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
