"""How often the alarm of a stream is false, and how soon it finds a fall (docs/how-to/estimate.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/streams.py [--samples 20]

Of each sample of 1,000 labelled images 80 windows of 500 are estimated, the last 20 after a fall of ten
points, without labels and with 25 each. The limit is two points below the true accuracy. A stream is 100 of
the first 60 windows, or 20 of these and then 8 of the last.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import real

import unseen
from starter.data.sets.recipe import draw_recipes
from unseen.estimation.budget import answered
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


def raised(found: Estimation, windows: Iterable[int], limit: float) -> int:
    """The number of windows after which the alarm is raised; 0 if it is not."""
    sets = (replace(found.sets[window], name=str(i)) for i, window in enumerate(windows, 1))
    return int(replace(found, sets=tuple(sets)).watch(limit).stream.raised or 0)


def rates(name: str, draw: Draw, samples: int) -> Iterator[dict[str, object]]:
    """The rates without and with labels in the windows."""
    whole, classes = draw(np.random.default_rng(999), 100_000, False)
    limit, ways = (whole.argmax(axis=1) == classes).mean() - 0.02, {"none": [], "5 %": []}
    for sample in range(samples):
        rng = np.random.default_rng(sample)
        parts = zip(draw(rng, SAME * SIZE, False), draw(rng, WORSE * SIZE, True), strict=True)
        new, truth = map(np.concatenate, parts)
        found = unseen.estimate(*draw(rng, KNOWN, False), {"": new}, window=SIZE)
        first = {each.set_name: SIZE * i for i, each in enumerate(found.seen)}
        pairs = found.ask(LABELS)[["set", "row"]].itertuples(index=False)
        answers = {(of, row): str(truth[first[of] + row]) for of, row in pairs}
        for way, each in (("none", found), ("5 %", answered(found, answers))):
            for _ in range(20):
                same = rng.integers(SAME, size=100)
                delay = raised(each, [*same[:20], *SAME + rng.permutation(WORSE)[:8]], limit) - 20
                ways[way].append((raised(each, same, limit) > 0, 0 < delay <= 4, delay > 0))
    for way, streams in ways.items():
        false, soon, later = np.mean(streams, axis=0)
        line = {"model": name, "labels": way, "streams": len(streams), "false alarms": false}
        yield line | {"found within 2,000 images": soon, "within 4,000": later}


def main() -> None:
    """Draw, estimate, print."""
    parser = real.parser(__doc__, folder=False, write=False)
    parser.add_argument("--samples", type=int, default=20)
    samples = parser.parse_args().samples
    for name, make in (("simulated", lambda: simulated), ("resnet56", photographs)):
        print(*rates(name, make(), samples), sep="\n", flush=True)


if __name__ == "__main__":
    main()
