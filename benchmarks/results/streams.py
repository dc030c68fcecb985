"""How often the alarm of a stream of windows is false, and how soon it finds a fall (docs/results/estimate.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/streams.py [--samples 20] [--write]

FOLDER is that of real.py here. Windows of 500 images come from a simulated model, as in docs/how-to/estimate.md,
and from ResNet-56 on CIFAR-10's test images; the limit is two points below the true accuracy. Of each sample of
labelled images, 60 windows as before and 20 after a fall of ten points are estimated, without labels and with
25 labels each; a stream is 100 of the former in random order, or 20 and then 8 of the latter. --write puts the
table into docs/results.
"""

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import real
from pages import record

import unseen
from starter.data.sets.recipe import draw_recipes
from unseen.estimation.budget import answered
from unseen.estimation.estimates import SetEstimate
from unseen.estimation.estimation import Estimation

SIZE, SAME, FALLEN, LABELS, STREAMS = 500, 60, 20, 25, 20
Rows = tuple[np.ndarray, np.ndarray]
"""Logits (n, k) and labels (n,)."""
Draw = Callable[[np.random.Generator, int, bool], Rows]
"""From a generator, a number of images and whether the accuracy has fallen."""


def simulated(rng: np.random.Generator, images: int, fallen: bool) -> Rows:
    """Logits of a model that is right for 81 % of the images, or for ten points less."""
    labels = rng.integers(10, size=images)
    return 2 * (rng.normal(size=(images, 10)) + (2.06 if fallen else 2.5) * np.eye(10)[labels]), labels


def photographs() -> Draw:
    """ResNet-56 on photographs; after the fall as many are distorted as take ten points from its accuracy."""
    network, clean = real.classifier(), real.images("test", 6000)
    recipes = draw_recipes("wide", 6, 0, 1000)
    distorted = [recipe.render(clean) for recipe in recipes]
    whole = network(clean.images)[0].numpy(), clean.truth
    bad = [
        np.concatenate(each) for each in zip(*((network(x.images)[0].numpy(), x.truth) for x in distorted))
    ]
    rates = [(logits.argmax(axis=1) == labels).mean() for logits, labels in (whole, bad)]
    share = 0.1 / (rates[0] - rates[1])

    def draw(rng: np.random.Generator, images: int, fallen: bool) -> Rows:
        worse = rng.binomial(images, share) if fallen else 0
        parts = [(whole, images - worse), (bad, worse)]
        rows = [rng.integers(len(labels), size=n) for (_, labels), n in parts]
        drawn = [tuple(values[i] for values in part) for (part, _), i in zip(parts, rows, strict=True)]
        order = rng.permutation(images)
        logits, labels = (np.concatenate(each)[order] for each in zip(*drawn, strict=True))
        return logits, labels

    return draw


def with_labels(found: Estimation, labels: np.ndarray) -> Estimation:
    """The estimates with the labels of as many images of each window as `--ask` draws."""
    table, first = found.ask(LABELS), {each.name: SIZE * i for i, each in enumerate(found.sets)}
    rows = [(name, row) for name, row in zip(table.set, table.row, strict=True)]
    return answered(found, {(name, row): str(labels[first[name] + row]) for name, row in rows})


def raised(found: Estimation, sets: Iterable[SetEstimate], limit: float) -> int:
    """The number of windows after which the alarm is raised; 0 if it is not."""
    stream = replace(found, sets=tuple(replace(each, name=str(i)) for i, each in enumerate(sets, 1)))
    return int(stream.watch(limit).stream.raised or 0)


def line(name: str, draw: Draw, known: int, samples: int) -> list[dict[str, object]]:
    """The rates without and with labels, over samples of so many labelled images."""
    whole = draw(np.random.default_rng(999), 100_000, False)
    truth = float((whole[0].argmax(axis=1) == whole[1]).mean())
    streams = dict[str, list[tuple[bool, bool, int]]]({"none": [], "5 %": []})
    for sample in range(samples):
        rng = np.random.default_rng(sample)
        same, fallen = draw(rng, SAME * SIZE, False), draw(rng, FALLEN * SIZE, True)
        logits, labels = (np.concatenate(each) for each in zip(same, fallen, strict=True))
        found = unseen.estimate(*draw(rng, known, False), logits, window=SIZE)
        for labelled, each in zip(streams, (found, with_labels(found, labels)), strict=True):
            for _ in range(STREAMS):
                quiet = [each.sets[i] for i in rng.integers(SAME, size=100)]
                after = [each.sets[SAME + i] for i in rng.permutation(FALLEN)[:8]]
                delay = raised(each, [*quiet[:20], *after], truth - 0.02) - 20
                today = any(one.accuracy < truth - 0.02 for one in quiet)
                streams[labelled].append((raised(each, quiet, truth - 0.02) > 0, today, delay))
    return [
        {
            "model": name,
            "labelled images": known,
            "labels in windows": labelled,
            "streams": len(each),
            "false alarms": np.mean([false for false, _, _ in each]),
            "of single windows": np.mean([today for _, today, _ in each]),
            "found in 2,000 images": np.mean([0 < delay <= 2000 / SIZE for *_, delay in each]),
            "in 4,000": np.mean([0 < delay for *_, delay in each]),
        }
        for labelled, each in streams.items()
    ]


def main() -> None:
    """Draw, estimate, print, record."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    asked, lines = parser.parse_args(), list[dict[str, object]]()
    for name, draw in (("simulated", simulated), ("resnet56", photographs())):
        for known in (500, 1000, 2000):
            lines += line(name, draw, known, asked.samples)
            print(*lines[-2:], sep="\n", flush=True)
    if asked.write:
        record("estimate-streams", lines)


if __name__ == "__main__":
    main()
