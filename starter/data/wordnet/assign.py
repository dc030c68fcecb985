"""Assignment of classes to ID, near OOD and far OOD, by similarity or by semantic pruning.

By similarity, a class is ID if its meaning is close to that of an ID class, else near or far (Recalcati et
al. 2023). Semantic pruning removes all classes from a pool that could be confused with an ID class (Yang et
al. 2024, ImageNet-OOD, section 3.2 and appendix H, without the manual selection).

The similarities of synsets are NLTK's `path_similarity`, 1 / (1 + p), `lch_similarity` (Leacock & Chodorow
1998), -log((1 + p) / 2D), and `wup_similarity` (Wu & Palmer 1994), 2d / (2d + q): p is the number of edges of
the shortest path between two synsets by way of a synset above both, q that by way of the deepest one above
both (NLTK takes a shorter path's, so that 1 % of Wu & Palmer's values differ), d the depth of that one + 1,
and D = 19 the length of the longest path from a noun to the root.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from starter.data.wordnet.labels import Match, Matches
from starter.data.wordnet.manifest import Assignment, ClassEntry, assignment, summary, write_manifest
from starter.data.wordnet.wordnet import WordNet
from submission.arrays import FloatArray
from submission.errors import UnusableInput

RULES = ("similarity", "pruning")
_NONE = 10_000
"""Number of edges where there is no path; twice that still fits an int16."""


def mean_similarity(wordnet: WordNet, first: Sequence[str], second: Sequence[str]) -> FloatArray:
    """Returns the mean of the measures, in (0, 1], Leacock & Chodorow's over log 2D, our choice: (n, m)."""
    edges, palmer = measured(wordnet, first, second)
    largest = np.log(2 * max(most for _, most in wordnet.depths.values()))
    leacock = 1 - np.log(1.0 + edges) / largest
    return (1 / (1.0 + edges) + leacock + palmer) / 3


def measured(
    wordnet: WordNet, first: Sequence[str], second: Sequence[str]
) -> tuple[NDArray[np.int16], FloatArray]:
    """Returns the edges of the shortest path, p, and Wu & Palmer's similarity of each pair, (n, m).

    The deepest synset above both is the one whose shortest path to the root is longest; its depth in the
    formula is its longest path. Of several equally deep it is the one in `first`, or the first by name.
    """
    above = [wordnet.ancestors(synset) for synset in first]
    deepest_first = sorted(
        set().union(*above), key=lambda synset: (-wordnet.depths[synset][0], wordnet.name(synset))
    )
    least, most = np.array([wordnet.depths[synset] for synset in deepest_first]).T
    columns = {synset: column for column, synset in enumerate(deepest_first)}
    up, other = _edges(above, columns), _edges([wordnet.ancestors(synset) for synset in second], columns)
    edges, palmer = np.empty((len(up), len(other)), np.int16), np.empty((len(up), len(other)))
    for row, (synset, own) in enumerate(zip(first, up, strict=True)):
        shared = np.flatnonzero(own < _NONE)
        edges[row] = (other[:, shared] + own[shared]).min(1)
        shared = shared[np.lexsort((shared, shared != columns[synset], -least[shared]))]
        lowest = shared[(other[:, shared] < _NONE).argmax(1)]
        ways = own[lowest] + other[np.arange(len(other)), lowest]
        palmer[row] = 2 * (most[lowest] + 1) / (2 * (most[lowest] + 1) + ways)
    return edges, palmer


def _edges(above: Sequence[dict[str, int]], columns: Mapping[str, int]) -> NDArray[np.int16]:
    """Returns the number of edges from each synset up to those of the columns, `_NONE` without a path."""
    edges = np.full((len(above), len(columns)), _NONE, np.int16)
    for row, found in enumerate(above):
        known = {columns[synset]: count for synset, count in found.items() if synset in columns}
        edges[row, list(known)] = list(known.values())
    return edges


NEAR = 0.60
"""Largest distance of near classes; near and far are this kit's."""
_BLOCK = 2000


Verdict = tuple[int | None, Assignment, str]
"""Oodness, assignment and reason."""
_UNMATCHED: Verdict = None, "dropped", "unmatched: no synset has its label"


def assigned(
    wordnet: WordNet,
    known: Matches,
    candidates: Sequence[Matches],
    judge: Callable[[str, Match, Match, float], Verdict],
) -> list[ClassEntry]:
    """Returns ID classes, then candidates as `judge` says (synset, match, nearest ID class, similarity)."""
    if not known.by_synset:
        raise UnusableInput(f"{known.source}: no ID class has a synset; name some by --overrides")

    def entry(source: str, match: Match, similarity: float | None, verdict: Verdict) -> ClassEntry:
        return ClassEntry(source, match.label, match.synset or "", similarity, *verdict)

    entries = []
    for match in known.matches:
        reason = f"ID class; matched by {match.how}" if match.synset else "ID class; unmatched"
        entries.append(entry(known.source, match, None, (0, "ID", reason)))
    synsets = list(dict.fromkeys(synset for source in candidates for synset in source.by_synset))
    nearest: dict[str, tuple[Match, float]] = {}
    matched = list(known.by_synset.values())
    for start in range(0, len(synsets), _BLOCK):
        block = synsets[start : start + _BLOCK]
        similarity = mean_similarity(wordnet, list(known.by_synset), block)
        found = zip(block, similarity.argmax(0), similarity.max(0), strict=True)
        nearest |= {synset: (matched[index], float(value)) for synset, index, value in found}
    for source in candidates:
        for match in source.matches:
            alike, verdict = None, _UNMATCHED
            if match.synset:
                neighbour, similar = nearest[match.synset]
                alike, verdict = min(similar, 1.0), judge(match.synset, match, neighbour, similar)
            entries.append(entry(source.source, match, alike, verdict))
    return entries


def similarity_benchmark(
    wordnet: WordNet, known: Matches, candidates: Sequence[Matches], threshold: float, hyponyms: bool = False
) -> list[ClassEntry]:
    """Assign every candidate class by its distance to the nearest ID class, 1 - mean similarity.

    Up to `threshold` (.40, .45 or .50 in the paper) it is ID (oodness 0 if the synset is an ID class's, else
    1), up to `NEAR` near (2), beyond it far (3). `hyponyms` of ID classes are ID (1) at any distance, unlike
    in the paper: by its measure a golden retriever is as far from a dog as a gazelle from a deer. Source:
    Recalcati et al. 2023, section IV.
    """
    if not 0 <= threshold <= NEAR:
        raise UnusableInput(f"--threshold {threshold:g}: 0 to {NEAR:g}, the largest distance of near classes")

    def judge(synset: str, match: Match, neighbour: Match, similarity: float) -> Verdict:
        distance = round(1 - similarity, 9)
        oodness = 0 if synset == neighbour.synset else 1 if distance <= threshold else 2
        oodness = 3 if distance > NEAR else oodness
        reason = f"nearest to {neighbour.called(wordnet)}, distance {distance:.3f}; matched by {match.how}"
        above = (known.by_synset.get(each) for each in wordnet.ancestors(synset) if hyponyms)
        if oodness > 1 and (own := next(filter(None, above), None)):
            oodness, reason = 1, f"hyponym of {own.called(wordnet)}; {reason}"
        return oodness, assignment(oodness), reason

    return assigned(wordnet, known, candidates, judge)


ORGANISM = "organism.n.01"
STEPS = ("unmatched", "ID class", "hypernym", "hyponym", "excluded", "covariate shift")
"""Names of the steps that drop classes, in order."""


def steps_text(entries: Sequence[ClassEntry]) -> str:
    """Returns a text with the numbers of classes that each step of `prune` dropped and left."""
    reasons = [entry.reason for entry in entries if entry.assignment == "dropped"]
    kinds = Counter(entry.assignment for entry in entries)
    left = len(reasons) + kinds["near"] + kinds["far"]
    lines = [f"{'step':18}{'dropped':>9}{'left':>9}", f"{'pool':18}{'':9}{left:>9,}"]
    for step in STEPS:
        count = sum(reason.startswith(step) for reason in reasons)
        left -= count
        lines.append(f"{step:18}{count:>9,}{left:>9,}")
    return "\n".join([*lines, f"{'sisters: near':18}{kinds['far']:>9,}{kinds['near']:>9,}"])


def prune(
    wordnet: WordNet, known: Matches, pool: Sequence[Matches], excluded: Sequence[str] = (ORGANISM,)
) -> list[ClassEntry]:
    """Drop the classes of a pool that could be confused with an ID class, step by step.

    The steps drop: 1. ID classes themselves; 2. their hypernyms and 3. hyponyms, at any distance; 4. all
    hyponyms of a synset of `excluded`, which meaning does not separate; 5. semantically-grounded covariate
    shifts. For step 5, each ID class is represented by its topmost ancestor that is not above another ID
    class, one level below a common ancestor; all hyponyms of that ancestor count as the ID class.

    Of the remaining classes, sisters (with a hypernym in common with an ID class) are near, oodness 2, and
    the others far, 3. A dropped class has oodness 0 if it is an ID class, 1 in steps 2, 3 and 5, else none.
    """
    labels = {synset: match.called(wordnet) for synset, match in known.by_synset.items()}
    below: dict[str, list[str]] = {}
    children: dict[str, list[str]] = {}
    for synset in labels:
        for above in wordnet.ancestors(synset):
            below.setdefault(above, []).append(synset)
        for hypernym in wordnet.hypernyms[synset]:
            children.setdefault(hypernym, []).append(synset)
    steps = partial(_step, wordnet, labels, below, {wordnet.synset(name) for name in excluded})

    def judge(synset: str, match: Match, neighbour: Match, similarity: float) -> Verdict:
        step, details = steps(synset)
        if step:
            return _OODNESS[step], "dropped", f"{step} {details}"
        sisters = (each for hypernym in wordnet.hypernyms[synset] for each in children.get(hypernym, ()))
        if not (related := list(dict.fromkeys(labels[each] for each in sisters))):
            return 3, "far", "no ID class shares a hypernym"
        more = f" and {len(related) - 3} more" * (len(related) > 3)
        return 2, "near", f"sister of {', '.join(related[:3])}{more}"

    return assigned(wordnet, known, pool, judge)


_OODNESS = {"ID class": 0, "hypernym": 1, "hyponym": 1, "covariate shift": 1, "excluded": None}


def _step(
    wordnet: WordNet,
    labels: Mapping[str, str],
    below: Mapping[str, list[str]],
    excluded: Collection[str],
    synset: str,
) -> tuple[str, str]:
    """Returns the step that drops a synset and its details; ("", "") if it is kept."""
    if synset in labels:
        return "ID class", labels[synset]
    if under := below.get(synset):
        return "hypernym", f"of {labels[under[0]]}"
    above = wordnet.ancestors(synset)
    if own := next((each for each in above if each in labels), None):
        return "hyponym", f"of {labels[own]}"
    if root := next((each for each in above if each in excluded), None):
        return "excluded", f"below {wordnet.name(root)}"
    for each in above:
        if len(under := below.get(each, [])) == 1:
            only = f"as of the ID classes only {labels[under[0]]} is"
            return "covariate shift", f"below {wordnet.name(each)}, {only}"
    return "", ""


def assign_classes(
    taxonomy: WordNet,
    classes: Sequence[Matches],
    out: Path,
    rule: str,
    threshold: float,
    hyponyms: bool,
    exclude: Sequence[str],
) -> str:
    """Write a class manifest by one of `RULES` and return what it has; the first of `classes` are ID."""
    known, *candidates = classes
    lines = [each.describe() for each in classes]
    if rule == "similarity":
        entries = similarity_benchmark(taxonomy, known, candidates, threshold, hyponyms)
    else:
        excluded = [name for name in exclude or [ORGANISM] if name != "none"]
        entries = prune(taxonomy, known, candidates, excluded)
        lines.append(f"\n{steps_text(entries)}")
    write_manifest(out, entries)
    following = f"unseen build DIR --track ood --classes {out} --images FOLDER"
    return "\n".join((*lines, f"\n{summary(entries)}\n\n{out}\nNext: {following}"))
