"""Assignment of classes to ID, near OOD and far OOD, by similarity or by semantic pruning.

By similarity, a class is ID if its meaning is close to that of an ID class, else near or far (Recalcati et
al. 2023). Semantic pruning removes all classes from a pool that could be confused with an ID class (Yang et
al. 2024, ImageNet-OOD, section 3.2 and appendix H, without the manual selection).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from starter.wordnet.labels import Match, Matches
from starter.wordnet.manifest import Assignment, ClassEntry, assignment
from starter.wordnet.similarity import mean_similarity
from starter.wordnet.wordnet import WordNet
from submission.errors import UnusableInput

T40, T45, T50 = 0.40, 0.45, 0.50
"""Thresholds of Recalcati et al. for the distance (1 - similarity) of ID classes."""
NEAR = 0.60
_BLOCK = 2000


def nearest(
    wordnet: WordNet, known: Sequence[str], synsets: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Returns index (m,) and similarity (m,) of the nearest `known` synset for each of `synsets` (m,)."""
    best, values = np.empty(len(synsets), np.int64), np.empty(len(synsets))
    for start in range(0, len(synsets), _BLOCK):
        block = slice(start, start + _BLOCK)
        similarity = mean_similarity(wordnet, known, synsets[block])
        best[block], values[block] = similarity.argmax(0), similarity.max(0)
    return best, values


def id_entries(known: Matches) -> Iterator[ClassEntry]:
    """Yield the ID classes themselves as entries of a manifest."""
    for match in known.matches:
        reason = f"ID class; matched by {match.how}" if match.synset else "ID class; unmatched"
        yield ClassEntry(known.source, match.label, match.synset or "", None, 0, "ID", reason)


def nearest_classes(
    wordnet: WordNet, known: Matches, candidates: Sequence[Matches]
) -> Iterator[tuple[str, Match, Match | None, float]]:
    """Yield every candidate with source, nearest ID class and similarity; None and 0 if it is unmatched."""
    if not known.by_synset:
        raise UnusableInput(f"{known.source}: no ID class has a synset; name some by --overrides")
    synsets = list(dict.fromkeys(synset for source in candidates for synset in source.by_synset))
    best, values = nearest(wordnet, list(known.by_synset), synsets)
    found = dict(zip(synsets, zip(best, values, strict=True), strict=True))
    matched = list(known.by_synset.values())
    for source in candidates:
        for match in source.matches:
            index, value = found[match.synset] if match.synset else (None, 0.0)
            yield source.source, match, None if index is None else matched[index], float(value)


def unmatched_entry(source: str, match: Match) -> ClassEntry:
    """Returns the entry of a candidate without a matching synset: dropped."""
    return ClassEntry(source, match.label, "", None, None, "dropped", "unmatched: no synset has its label")


def similarity_benchmark(
    wordnet: WordNet,
    known: Matches,
    candidates: Sequence[Matches],
    threshold: float = T45,
    near: float = NEAR,
    hyponyms: bool = False,
) -> list[ClassEntry]:
    """Assign every candidate class by its distance to the nearest ID class, 1 - mean similarity.

    Up to `threshold` it is ID (oodness 0 if the synset is that of an ID class, else 1), up to `near` it is
    near (2), beyond it far (3). Source: Recalcati et al. 2023, section IV; near and far are this kit's.

    Args:
        wordnet: Taxonomy.
        known: ID classes; they come first in the manifest.
        candidates: Classes to assign, by source.
        threshold: Largest distance of ID classes, in [0, 1]; `T40`, `T45` and `T50` are the paper's.
        near: Largest distance of near classes, from `threshold` to 1.
        hyponyms: True to assign hyponyms of ID classes to ID at any distance (oodness 1), unlike the paper:
            by its measure a golden retriever is as far from a dog as a gazelle from a deer.
    """
    if not 0 <= threshold <= near <= 1:
        raise UnusableInput(
            f"--threshold {threshold:g} and --near {near:g}: 0 <= threshold <= near <= 1 is needed"
        )
    entries = list(id_entries(known))
    for source, match, neighbour, similarity in nearest_classes(wordnet, known, candidates):
        if neighbour is None or match.synset is None:
            entries.append(unmatched_entry(source, match))
            continue
        distance = round(1 - similarity, 9)
        oodness = 0 if match.synset == neighbour.synset else 1 if distance <= threshold else 2
        oodness = 3 if distance > near else oodness
        reason = f"nearest to {neighbour.called(wordnet)}, distance {distance:.3f}; matched by {match.how}"
        if hyponyms and oodness > 1 and (own := own_class(wordnet, known, match.synset)):
            oodness, reason = 1, f"hyponym of {own}; {reason}"
        assigned = assignment(oodness)
        entries.append(
            ClassEntry(source, match.label, match.synset, min(similarity, 1.0), oodness, assigned, reason)
        )
    return entries


def own_class(wordnet: WordNet, known: Matches, synset: str) -> str | None:
    """Returns the name of the nearest ID class among the synset's hypernyms; None if there is none."""
    above = (known.by_synset.get(each) for each in wordnet.ancestors(synset))
    return next((match.called(wordnet) for match in above if match), None)


ORGANISM = "organism.n.01"
STEPS = ("unmatched", "ID class", "hypernym", "hyponym", "excluded", "covariate shift")
"""Names of the steps that drop classes, in order."""


@dataclass(frozen=True)
class Pruning:
    """A pool of classes after pruning.

    Attributes:
        entries: Manifest with ID classes first, then the pool; the reason of a dropped class names its step.
        dropped: Number of classes dropped by each step.
        candidates: Number of classes before the step "covariate shift".
        sisters: Number of remaining classes that share a hypernym with an ID class; they are near, the others
            far.
        pairs: Number of pairs of a sister and an ID class with a common hypernym.
    """

    entries: tuple[ClassEntry, ...]
    dropped: Mapping[str, int]
    candidates: int
    sisters: int
    pairs: int

    def describe(self) -> str:
        """Returns a text with the numbers of dropped and remaining classes after each step."""
        left = sum(self.dropped.values()) + sum(entry.ood for entry in self.entries)
        lines = [f"{'step':18}{'dropped':>9}{'left':>9}", f"{'pool':18}{'':9}{left:>9,}"]
        for step in STEPS:
            left -= self.dropped[step]
            lines.append(f"{step:18}{self.dropped[step]:>9,}{left:>9,}")
        lines.append(f"{'sisters: near':18}{left - self.sisters:>9,}{self.sisters:>9,}  {self.pairs:,} pairs")
        return "\n".join(lines)


def prune(
    wordnet: WordNet, known: Matches, pool: Sequence[Matches], excluded: Sequence[str] = (ORGANISM,)
) -> Pruning:
    """Drop the classes of a pool that could be confused with an ID class, step by step.

    The steps drop: 1. ID classes themselves; 2. their hypernyms and 3. hyponyms, at any distance; 4. all
    hyponyms of a synset of `excluded`, which meaning does not separate; 5. semantically-grounded covariate
    shifts. For step 5, each ID class is represented by its topmost ancestor that is not above another ID
    class, one level below a common ancestor; all hyponyms of that ancestor count as the ID class.

    Of the remaining classes, sisters (with a hypernym in common with an ID class) are near, oodness 2, and
    the others far, 3. A dropped class has oodness 0 if it is an ID class, 1 in steps 2, 3 and 5, else none.

    Args:
        wordnet: Taxonomy.
        known: ID classes.
        pool: Classes to prune, by source.
        excluded: Synsets in a form for `WordNet.synset`.
    """
    boundary = _Boundary(wordnet, known, [wordnet.synset(name) for name in excluded])
    entries = list(id_entries(known))
    dropped: Counter[str] = Counter()
    sisters = pairs = 0
    for source, match, _, similarity in nearest_classes(wordnet, known, pool):
        if match.synset is None:
            dropped["unmatched"] += 1
            entries.append(unmatched_entry(source, match))
            continue
        step, details = boundary.judge(match.synset)
        related = [] if step else boundary.related(match.synset)
        dropped[step] += bool(step)
        sisters, pairs = sisters + bool(related), pairs + len(related)
        more = f" and {len(related) - 3} more" * (len(related) > 3)
        sister = f"sister of {', '.join(related[:3])}{more}" if related else "no ID class shares a hypernym"
        reason = f"{step} {details}" if step else sister
        oodness = _OODNESS.get(step, 2 if related else 3)
        assigned: Assignment = "dropped" if step else "near" if related else "far"
        entries.append(
            ClassEntry(source, match.label, match.synset, min(similarity, 1.0), oodness, assigned, reason)
        )
    candidates = sum(entry.ood for entry in entries) + dropped["covariate shift"]
    return Pruning(tuple(entries), {step: dropped[step] for step in STEPS}, candidates, sisters, pairs)


_OODNESS = {"ID class": 0, "hypernym": 1, "hyponym": 1, "covariate shift": 1, "excluded": None}


class _Boundary:
    """The boundary of the ID classes in the taxonomy."""

    def __init__(self, wordnet: WordNet, known: Matches, excluded: Sequence[str]) -> None:
        self.wordnet, self.excluded = wordnet, set(excluded)
        self.labels = {synset: match.called(wordnet) for synset, match in known.by_synset.items()}
        self.below: dict[str, list[str]] = {}
        self.children: dict[str, list[str]] = {}
        for synset in self.labels:
            for above in wordnet.ancestors(synset):
                self.below.setdefault(above, []).append(synset)
            for hypernym in wordnet.hypernyms[synset]:
                self.children.setdefault(hypernym, []).append(synset)

    def judge(self, synset: str) -> tuple[str, str]:
        """Returns the step that drops a synset and its details; ("", "") if it is kept."""
        if synset in self.labels:
            return "ID class", self.labels[synset]
        if under := self.below.get(synset):
            return "hypernym", f"of {self.labels[under[0]]}"
        above = self.wordnet.ancestors(synset)
        if own := next((each for each in above if each in self.labels), None):
            return "hyponym", f"of {self.labels[own]}"
        if root := next((each for each in above if each in self.excluded), None):
            return "excluded", f"below {self.wordnet.name(root)}"
        for each in above:
            if len(under := self.below.get(each, [])) == 1:
                only = f"as of the ID classes only {self.labels[under[0]]} is"
                return "covariate shift", f"below {self.wordnet.name(each)}, {only}"
        return "", ""

    def related(self, synset: str) -> list[str]:
        """Returns the ID classes with which a synset has a hypernym in common."""
        shared = (self.children.get(hypernym, ()) for hypernym in self.wordnet.hypernyms[synset])
        return list(dict.fromkeys(self.labels[each] for some in shared for each in some))
