"""Pictures of a prediction graph: the graph itself, and the classes nearest and farthest in meaning."""

import io
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from starter.studies.confusions import PredictionGraph
from submission.files import replacing

SHOWN = 10
"""Classes at either end of the bars."""


def plot_graph(graph: PredictionGraph, out: Path) -> Path:
    """Write a PNG of the pruned graph: OOD classes on the outer circle, what they are taken for inside.

    A line is as wide as its share of the class's images, and coloured by the similarity of the two classes.
    """
    edges = graph.pruned
    figure = Figure(figsize=(12, 12), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    axis.set(title=graph.sizes(), aspect="equal", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25))
    axis.set_axis_off()
    outer, inner = _angles(edges)
    colours = matplotlib.colormaps["viridis"]
    for edge in edges.to_dict("records"):
        ends = _point(outer[edge["source"], edge["true"]], 1.0), _point(inner[edge["predicted"]], 0.5)
        similarity = 0.0 if pd.isna(edge["similarity"]) else edge["similarity"]
        axis.plot(*zip(*ends, strict=True), color=colours(similarity), linewidth=4 * edge["share"], alpha=0.7)
    words = dict(zip(zip(edges["source"], edges["true"], strict=True), edges["word"], strict=True))
    for key, angle in outer.items():
        turn = np.degrees(angle) % 360
        flipped = 90 < turn < 270
        axis.text(
            *_point(angle, 1.01), words[key], size=5, rotation=turn - 180 * flipped, rotation_mode="anchor",
            ha="right" if flipped else "left", va="center",
        )  # fmt: skip
    for name, angle in inner.items():
        box = {"boxstyle": "round", "facecolor": "white"}
        axis.text(*_point(angle, 0.5), name, size=10, ha="center", va="center", bbox=box)
    scale = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(0, 1), colours)
    figure.colorbar(scale, ax=axis, shrink=0.5, label="similarity of the two classes")
    return _write(figure, out)


def plot_similarities(graph: PredictionGraph, out: Path) -> Path:
    """Write a PNG with the mean similarity of the classes at either end: true classes, and predicted ones."""
    true, predicted = graph.per_class(), graph.per_prediction()
    true["name"] = true["word"] + " (" + true["assignment"] + ")"
    tables = {
        "by true class": true,
        "by predicted class, OOD images": predicted.assign(name=predicted["predicted"]),
    }
    figure = Figure(figsize=(11, 6), layout="constrained")
    FigureCanvasAgg(figure)
    for axis, (title, table) in zip(figure.subplots(1, 2), tables.items(), strict=True):
        ranked = table.dropna(subset="similarity").sort_values("similarity", ascending=False, kind="stable")
        shown = ranked if len(ranked) <= 2 * SHOWN else pd.concat([ranked[:SHOWN], ranked[-SHOWN:]])
        axis.barh(np.arange(len(shown)), shown["similarity"], color="tab:blue")
        axis.set_yticks(np.arange(len(shown)), shown["name"])
        axis.invert_yaxis()
        axis.set(title=title, xlim=(0, 1), xlabel="mean similarity of true and predicted class")
    return _write(figure, out)


def _angles(edges: pd.DataFrame) -> tuple[dict[tuple[str, str], float], dict[str, float]]:
    """Where classes stand: true ones evenly, by what they are most taken for, and that at their middle."""
    by_share = edges.sort_values("share", kind="stable")
    strongest = by_share.drop_duplicates(["source", "true"], keep="last")
    strongest = strongest.sort_values(["predicted", "source", "true"])
    turns = np.linspace(0, 2 * np.pi, len(strongest), endpoint=False)
    keys = zip(strongest["source"], strongest["true"], strict=True)
    names = sorted(set(edges["predicted"]))
    evenly = dict(zip(names, np.linspace(0, 2 * np.pi, len(names), endpoint=False), strict=True))
    own = {name: turns[(strongest["predicted"] == name).to_numpy()] for name in names}
    inner = {name: float(own[name].mean()) if len(own[name]) else float(evenly[name]) for name in names}
    return dict(zip(keys, map(float, turns), strict=True)), inner


def _point(angle: float, radius: float) -> tuple[float, float]:
    return radius * float(np.cos(angle)), radius * float(np.sin(angle))


def _write(figure: Figure, out: Path) -> Path:
    encoded = io.BytesIO()
    figure.savefig(encoded, format="png", dpi=130, metadata={"Software": None})
    with replacing(out) as temporary:
        temporary.write_bytes(encoded.getvalue())
    return out
