"""How often the alarm of a stream is false, and how soon it finds a fall (docs/how-to/estimate.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/streams.py [--samples 20]

Of each sample of 1,000 labelled images 80 windows of 500 are estimated, the last 20 after a fall of ten
points, without labels and with 25 each. The limit is two points below the true accuracy. A stream is 100 of
the first 60 windows, or 20 of these and then 8 of the last; both are drawn 20 times a sample. The model is
simulated, or ResNet-56, some of whose images are distorted after the fall.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import real

import unseen
from starter.data.sets.recipe import draw_recipes
from unseen.estimation.budget import answered
from unseen.estimation.estimates import SetEstimate
from unseen.estimation.estimation import Estimation

KNOWN, SIZE, SAME, WORSE, LABELS = 1000, 500, 60, 20, 25
Draw = Callable[[np.random.Generator, int, bool], tuple[np.ndarray, np.ndarray]]
"""From a generator, a number of images and whether accuracy has fallen: logits (n, k) and labels (n,)."""


def simulated(rng: np.random.Generator, images: int, worse: bool) -> tuple[np.ndarray, np.ndarray]:
    """A model that is right for 81 % of the images, or for ten points less."""
    labels = rng.integers(10, size=images)
    return 2 * (rng.normal(size=(images, 10)) + (2.12 if worse else 2.5) * np.eye(10)[labels]), labels


def photographs() -> Draw:
    """ResNet-56 on 3,000 photographs; as many distorted ones as take ten points are mixed in."""
    network, clean = real.classifier(), real.images("test", 3000)
    sets = [clean, *(recipe.render(clean) for recipe in draw_recipes("wide", 3, 0, 1000))]
    logits = np.concatenate([network(each.images)[0].numpy() for each in sets])
    labels = np.concatenate([each.truth for each in sets])
    right, first = logits.argmax(axis=1) == labels, len(clean)
    share = 0.1 / (right[:first].mean() - right[first:].mean())

    def draw(rng: np.random.Generator, images: int, worse: bool) -> tuple[np.ndarray, np.ndarray]:
        distorted = rng.random(images) < share * worse
        rows = np.where(distorted, rng.integers(first, len(labels), images), rng.integers(first, size=images))
        return logits[rows], labels[rows]

    return draw


def raised(found: Estimation, sets: Iterable[SetEstimate], limit: float) -> int:
    """The number of windows after which the alarm is raised; 0 if it is not."""
    stream = replace(found, sets=tuple(replace(each, name=str(i)) for i, each in enumerate(sets, 1)))
    return int(stream.watch(limit).stream.raised or 0)


def rates(name: str, draw: Draw, samples: int) -> list[dict[str, object]]:
    """The rates without and with labels in the windows."""
    whole, classes = draw(np.random.default_rng(999), 100_000, False)
    right = (whole.argmax(axis=1) == classes).mean()
    limit, ways = right - 0.02, {"none": [], "none, bias below a point": [], "5 %": []}
    for sample in range(samples):
        rng = np.random.default_rng(sample)
        parts = zip(draw(rng, SAME * SIZE, False), draw(rng, WORSE * SIZE, True), strict=True)
        new, truth = map(np.concatenate, parts)
        found = unseen.estimate(*draw(rng, KNOWN, False), {"": new}, window=SIZE)
        first = {each.set_name: SIZE * i for i, each in enumerate(found.seen)}
        pairs = found.ask(LABELS)[["set", "row"]].itertuples(index=False)
        answers = {(of, row): str(truth[first[of] + row]) for of, row in pairs}
        bias = np.mean([each.accuracy for each in found.sets[:SAME]]) - right
        for way, each in (("none", found), ("5 %", answered(found, answers))):
            for _ in range(20):
                same = [each.sets[i] for i in rng.integers(SAME, size=100)]
                delay = raised(each, [*same[:20], *rng.permutation(each.sets[SAME:])[:8]], limit) - 20
                today = any(one.accuracy < limit for one in same)
                ways[way].append((raised(each, same, limit) > 0, today, delay))
        if abs(bias) < 0.01:
            ways["none, bias below a point"] += ways["none"][-20:]
    names = ("streams", "false alarms", "by single windows", "found within 2,000 images", "within 4,000")
    lines = []
    for way, of in ways.items():
        shares = np.mean([(false, today, 0 < delay <= 4, delay > 0) for false, today, delay in of], axis=0)
        lines.append({"model": name, "labels": way, **dict(zip(names, (len(of), *shares), strict=True))})
    return lines


def main() -> None:
    """Draw, estimate, print."""
    parser = real.parser(__doc__, folder=False, write=False)
    parser.add_argument("--samples", type=int, default=20)
    samples = parser.parse_args().samples
    for name, make in (("simulated", lambda: simulated), ("resnet56", photographs)):
        print(*rates(name, make(), samples), sep="\n", flush=True)


if __name__ == "__main__":
    main()
