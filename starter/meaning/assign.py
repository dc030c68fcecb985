"""A benchmark by similarity: a class is ID where an ID class means nearly the same, else near or far."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from starter.meaning.labels import Match, Matches
from starter.meaning.manifest import ClassEntry, assignment
from starter.meaning.similarity import mean_similarity
from starter.meaning.wordnet import WordNet
from submission.errors import UnusableInput

T40, T45, T50 = 0.40, 0.45, 0.50
"""Recalcati et al.'s thresholds, read as the distance, 1 less the similarity, up to which a class is ID."""
NEAR = 0.60
_BLOCK = 2000


def nearest(
    wordnet: WordNet, known: Sequence[str], synsets: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The nearest of the `known` synsets to each of `synsets` (m): its index (m,), their similarity (m,)."""
    best, values = np.empty(len(synsets), np.int64), np.empty(len(synsets))
    for start in range(0, len(synsets), _BLOCK):
        block = slice(start, start + _BLOCK)
        similarity = mean_similarity(wordnet, known, synsets[block])
        best[block], values[block] = similarity.argmax(0), similarity.max(0)
    return best, values


def id_entries(known: Matches) -> Iterator[ClassEntry]:
    """The ID classes themselves, as a manifest has them."""
    for match in known.matches:
        reason = f"ID class; matched by {match.how}" if match.synset else "ID class; unmatched"
        yield ClassEntry(known.source, match.label, match.synset or "", None, 0, "ID", reason)


def nearest_classes(
    wordnet: WordNet, known: Matches, candidates: Sequence[Matches]
) -> Iterator[tuple[str, Match, Match | None, float]]:
    """Every candidate with its source, the nearest ID class and their similarity; None and 0 where unmatched.

    Raises:
        UnusableInput: no ID class has a synset.
    """
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
    """A candidate whose label matches nothing: dropped."""
    return ClassEntry(source, match.label, "", None, None, "dropped", "unmatched: no synset has its label")


def similarity_benchmark(
    wordnet: WordNet,
    known: Matches,
    candidates: Sequence[Matches],
    threshold: float = T45,
    near: float = NEAR,
    hyponyms: bool = False,
) -> list[ClassEntry]:
    """Assign every candidate class by its distance to the nearest ID class: 1 less the mean similarity.

    Up to `threshold` it is ID (oodness 0 where the synset is an ID class's own, else 1), up to `near` near
    (2), beyond it far (3). Source: Recalcati et al. 2023, section IV; near and far are this kit's.

    Args:
        wordnet: the taxonomy.
        known: the ID classes; they come first in the manifest.
        candidates: the classes to assign, by source.
        threshold: in [0, 1]; `T40`, `T45` and `T50` are the paper's.
        near: at least `threshold`, at most 1.
        hyponyms: take hyponyms of ID classes for ID at any distance (oodness 1), which the paper does not: to
            its measure a golden retriever is as far from a dog as a gazelle from a deer.

    Raises:
        UnusableInput: a threshold is out of range, or no ID class has a synset.
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
    """What the nearest ID class that the synset is a kind of is called, None where there is none."""
    above = (known.by_synset.get(each) for each in wordnet.ancestors(synset))
    return next((match.called(wordnet) for match in above if match), None)
