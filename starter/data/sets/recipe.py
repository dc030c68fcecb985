"""Recipe: a set made from a base of images, specified in one line of JSON; drawing and reading recipes.

A recipe's set depends only on its seed, its operations and the base. Magnitudes come from a Philox generator
keyed by seed and operation, pixel noise from one keyed by seed, operation and chunk of 500 images.
"""

import base64
import hashlib
import json
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import Generator

from starter.data.images.imageset import ImageSet
from starter.data.operations import GROUPS, OPERATIONS, Policy, groups_of, policy_of
from starter.data.operations.kernels import to_planes
from starter.data.operations.operation import Parameter, Params
from submission.arrays import IntArray
from submission.errors import UnusableInput
from submission.files import read_text
from submission.ids import SET
from submission.random import MAGNITUDES, NOISE, RECIPES, SELECTION

#: Images are always rendered in chunks of this many, whatever batches they are used in.
CHUNK = 500
#: Within a chunk the operations take this many at a time, few enough for the processor's cache. Like CHUNK it
#: is part of what a recipe means: noise is drawn block by block.
BLOCK = 250


def packed(rows: IntArray) -> str:
    """Returns a list of images of a base as a bit for each in base64, the first image's in the highest bit.

    >>> packed(np.array([0, 2, 9])), unpacked("oEA=").tolist()
    ('oEA=', [0, 2, 9])
    """
    bits = np.zeros(int(rows.max()) + 1, bool)
    bits[rows] = True
    return base64.b64encode(np.packbits(bits).tobytes()).decode()


def unpacked(text: str) -> IntArray:
    """Returns the indices of the images in the text, int64 (m,), ascending."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(base64.b64decode(text, validate=True), np.uint8)))


def _rows_problem(value: object) -> str | None:
    """Returns the problem with a list of images, see `Parameter`; None for a valid value."""
    try:
        if isinstance(value, str) and len(unpacked(value)):
            return None
    except ValueError:
        pass
    return f"must be base64 of a bit for each image, one of them set, got {reprlib.repr(value)}"


Check = Callable[[object], str | None]

#: The operations that select images; a recipe may begin with one of them.
SELECTIONS: dict[str, Mapping[str, Check]] = {
    "sample": {"n": Parameter(int, 1)},
    "resample_classes": {"n": Parameter(int, 1), "concentration": Parameter(float, 0.001)},
    "among": {"n": Parameter(int, 1), "rows": _rows_problem},
}


@dataclass(frozen=True)
class Recipe:
    """Specification of a set made from a base: its name, seed >= 0, and pairs (operation, params), in order.

    The first operation may select images, else the set is the whole base in its order: `sample {"n": 500}`
    draws n without replacement, in random order; `resample_classes {"n": 500, "concentration": 0.5}` draws
    class priors from a symmetric Dirichlet distribution, and n images without replacement by them (the share
    of a class without further images goes to the others); `among {"n": 500, "rows": "..."}` draws n of the
    images listed by `packed`, a sub-population. The other operations are names in OPERATIONS, applied to
    every image.
    """

    name: str
    seed: int
    ops: tuple[tuple[str, Params], ...]

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise UnusableInput(f"recipe {self.name!r}: {problem}")
        object.__setattr__(self, "ops", tuple((name, dict(params)) for name, params in self.ops))

    def _problem(self) -> str | None:
        """Returns the first fault of the fields, which a user may have written; None if there is none."""
        if not isinstance(self.name, str) or not re.fullmatch(SET, self.name):
            return "name must be letters, digits, '_', '.' and '-'"
        if not isinstance(self.seed, int) or self.seed < 0:
            return f"seed must be a non-negative integer, got {self.seed!r}"
        if not isinstance(self.ops, tuple | list):
            return "ops must be a list of operations"
        faults = ((index, self._fault(index, op)) for index, op in enumerate(self.ops, 1))
        return next((f"operation {index}: {fault}" for index, fault in faults if fault), None)

    @staticmethod
    def _fault(index: int, op: object) -> str | None:
        """Returns the fault of one of the operations, the first of which is number 1."""
        match op:
            case [str(name), dict(params)]:
                pass
            case _:
                return f'it must be a name and its params, as in ["sample", {{"n": 500}}], got {op!r}'
        if name in SELECTIONS and index > 1:
            return f"{name!r} selects images and so must come first, once"
        if name not in SELECTIONS and name not in OPERATIONS:
            return f"unknown operation {name!r}; choose from {', '.join([*SELECTIONS, *OPERATIONS])}"
        needed: Mapping[str, Check] = SELECTIONS.get(name) or OPERATIONS[name].parameters
        optional: Mapping[str, Check] = {} if name in SELECTIONS else OPERATIONS[name].optional
        allowed = {**needed, **optional}
        if lacking := needed.keys() - params.keys():
            return f"{name!r}: {min(lacking)!r} is missing"
        if strange := params.keys() - allowed.keys():
            return f"{name!r}: {min(strange)!r} is not a parameter of it ({', '.join(allowed) or 'none'})"
        faults = ((key, allowed[key](value)) for key, value in params.items())
        return next((f"{name!r}: {key!r} {fault}" for key, fault in faults if fault), None)

    @classmethod
    def from_json(cls, line: str) -> "Recipe":
        """Returns the recipe in a line of JSON, as `to_json` writes it."""
        try:
            return cls(**json.loads(line))
        except (ValueError, TypeError) as error:
            reason = f"one line of JSON with name, seed and ops ({error})"
            raise UnusableInput(f"not a recipe, which is {reason}: {line[:100].strip()}") from error

    def to_json(self) -> str:
        """Returns the recipe as one line of JSON, keys sorted."""
        return json.dumps({"name": self.name, "seed": self.seed, "ops": self.ops}, sort_keys=True)

    @property
    def digest(self) -> str:
        """SHA-256 of seed and operations, not of the name: the same digest and base give the same images."""
        return hashlib.sha256(json.dumps([self.seed, self.ops], sort_keys=True).encode()).hexdigest()

    @property
    def families(self) -> frozenset[str]:
        """The families of its pixel operations; without any, that of its selection."""
        pixel = frozenset(OPERATIONS[name].family for name, _ in self.pixel_ops) - {"identity"}
        alone = {"resample_classes": "class_prior", "among": "sub_population"}
        return pixel or frozenset({alone.get(self.selection or "", "identity")})

    @property
    def selection(self) -> str | None:
        """The name of the operation that selects images; None without one."""
        return self.ops[0][0] if self.ops and self.ops[0][0] in SELECTIONS else None

    @property
    def pixel_ops(self) -> tuple[tuple[str, Params], ...]:
        """The operations without the one that selects images."""
        return self.ops[1:] if self.selection else self.ops

    def size(self, base: ImageSet) -> int:
        """Returns the number of images of the set; a base with too few is refused."""
        n, there = (self.ops[0][1]["n"] if self.selection else len(base)), len(base)
        if self.selection == "among":
            rows = unpacked(self.ops[0][1]["rows"])
            there = len(rows) if rows[-1] < len(base) else 0
        if n > there:
            raise UnusableInput(
                f"recipe {self.name!r} draws {n} images without replacement, but the base {base.name!r} has "
                f"only {there} for it; ask for smaller sets or give a larger base"
            )
        return n

    def indices(self, base: ImageSet) -> IntArray:
        """Returns the indices of the set's images in the base, int64 (n,), in order."""
        n = self.size(base)
        rng = SELECTION(self.seed, self.selection)
        if self.selection == "sample":
            return rng.permutation(len(base))[:n]
        if self.selection == "resample_classes":
            if base.labels is None:
                raise UnusableInput(
                    f"recipe {self.name!r} resamples classes, but {base.name!r} has no labels"
                )
            return _resample_classes(rng, base.labels, n, self.ops[0][1]["concentration"])
        if self.selection == "among":
            return rng.permutation(unpacked(self.ops[0][1]["rows"]))[:n]
        return np.arange(n)

    def chunks(self, base: ImageSet) -> Iterator[torch.Tensor]:
        """Yield the set's images in order, uint8 (m, 3, h, w) with m = 500, except in the last chunk."""
        indices = self.indices(base)
        steps = [
            (OPERATIONS[name], params, (self.seed, index, name))
            for index, (name, params) in enumerate(self.pixel_ops)
        ]
        drawn = [
            operation.magnitudes(MAGNITUDES(*key), len(indices), params) for operation, params, key in steps
        ]
        pixels = np.ascontiguousarray(base.images)
        # Freeing an untouched block of nearly 32 MB has glibc's malloc reuse freed memory (`mallopt(3)`,
        # M_MMAP_THRESHOLD): getting large blocks back page by page takes longer than the operations.
        torch.empty(31 << 20, dtype=torch.uint8)
        for number, start in enumerate(range(0, len(indices), CHUNK)):
            stop = min(start + CHUNK, len(indices))
            noise = [NOISE(*key, number) for _, _, key in steps]
            blocks = []
            for first in range(start, stop, BLOCK):
                rows = slice(first, min(first + BLOCK, stop))
                images = torch.empty(len(indices[rows]), 3, *pixels.shape[1:3], dtype=torch.uint8)
                to_planes(pixels, indices[rows], images.numpy())
                for (operation, params, _), magnitudes, rng in zip(steps, drawn, noise, strict=True):
                    now = {name: values[rows] for name, values in magnitudes.items()}
                    images = operation.apply(images, {**params, **now}, rng)
                blocks.append(images)
            yield torch.cat(blocks)

    def render(self, base: ImageSet) -> ImageSet:
        """Returns the set: its images, with their labels if the base has labels."""
        indices = self.indices(base)
        images = np.empty((len(indices), *base.images.shape[1:]), np.uint8)
        for number, chunk in enumerate(self.chunks(base)):
            images[number * CHUNK : (number + 1) * CHUNK] = chunk.permute(0, 2, 3, 1).numpy()
        return ImageSet(self.name, images, None if base.labels is None else base.labels[indices])


def _resample_classes(rng: Generator, labels: IntArray, n: int, concentration: float) -> IntArray:
    """Returns n of the images in random order, drawn without replacement by Dirichlet class priors.

    Gumbel top-k: the n largest of log(prior / class size) + Gumbel noise. The log-priors are those of
    Gamma(a) variates, drawn as Gamma(a + 1) U^(1/a), which a small concentration does not underflow.
    """
    classes, members, counts = np.unique(labels, return_inverse=True, return_counts=True)
    uniform = 1 - rng.random(len(classes))
    log_prior = np.log(rng.standard_gamma(concentration + 1, len(classes))) + np.log(uniform) / concentration
    keys = (log_prior - np.log(counts))[members] + rng.gumbel(size=len(labels))
    return rng.permutation(np.argsort(-keys, kind="stable")[:n])


def draw_recipes(
    group: str,
    count: int,
    seed: int,
    n: int,
    *,
    prefix: str = "train",
    clusters: IntArray | None = None,
    **policy: Any,
) -> list[Recipe]:
    """Returns `count` recipes for sets of n images, named ``<prefix>_0001`` ...; a larger count appends.

    Groups joined by "+" take turns, set by set. `policy` are fields of `Policy`; those that are not given (or
    empty) are the group's. `clusters` are the cluster of each base image, int64, from hard to easy: a
    sub-population is neighbouring ones, see `neighbours`, and a plain sample without them.
    """
    groups = groups_of(group)
    changed = {name: value for name, value in policy.items() if value != ()}
    policies = [policy_of(each)._replace(**changed) for each in groups]
    recipes = []
    for number in range(1, count + 1):
        turn = (number - 1) % len(groups)
        rng = RECIPES(seed, prefix, number)
        ops = (_selection(policies[turn], rng, n, clusters), *_pixel_ops(groups[turn], policies[turn], rng))
        recipes.append(Recipe(f"{prefix}_{number:04d}", int(rng.integers(2**53)), ops))
    return recipes


def _selection(policy: Policy, rng: Generator, n: int, clusters: IntArray | None) -> tuple[str, Params]:
    """Returns the operation that selects the n images of a set."""
    kind = rng.random()
    if kind < policy.prior_share:
        low, high = policy.concentration
        drawn = low if low == high else float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.3g}")
        return "resample_classes", {"n": n, "concentration": drawn}
    if kind < policy.prior_share + policy.part_share:
        place = rng.random()
        if clusters is not None:
            return "among", {"n": n, "rows": packed(neighbours(clusters, n, place))}
    return "sample", {"n": n}


def _pixel_ops(group: str, policy: Policy, rng: Generator) -> list[tuple[str, Params]]:
    """Returns the operations on a set's images."""
    weak = policy.weak_share > 0 and rng.random() < policy.weak_share
    strength = round(rng.random(), 3) if weak else 1.0
    low, high = policy.ops_per_set
    names = rng.permutation(GROUPS[group])[: rng.integers(low, high, endpoint=True)]
    return [(str(name), OPERATIONS[name].draw_params(rng, strength)) for name in names]


def neighbours(clusters: IntArray, n: int, place: float) -> IntArray:
    """Returns at least n images of the clusters (m,) nearest to a place in [0, 1] of their order, or all."""
    count = int(clusters.max()) + 1
    nearest = np.argsort(np.abs(np.arange(count) - place * (count - 1)), kind="stable")
    sizes = np.cumsum(np.bincount(clusters, minlength=count)[nearest])
    return np.flatnonzero(np.isin(clusters, nearest[: np.searchsorted(sizes, n) + 1]))


MAX_BYTES = 1 << 26


def read_recipes(path: Path | str) -> list[Recipe]:
    """Returns the recipes in a file with a line of JSON each, as written by `Recipe.to_json`."""
    path = Path(path)
    recipes: list[Recipe] = []
    first: dict[str, int] = {}
    for number, line in enumerate(read_text(path, MAX_BYTES).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            recipe = Recipe.from_json(line)
        except UnusableInput as error:
            raise UnusableInput(f"{path}, line {number}: {error}") from error
        if first.setdefault(recipe.name, number) != number:
            raise UnusableInput(
                f"{path}, line {number}: the name {recipe.name!r} stands in line {first[recipe.name]} already"
            )
        recipes.append(recipe)
    if not recipes:
        raise UnusableInput(f"{path}: holds no recipe, which is one line of JSON")
    return recipes
