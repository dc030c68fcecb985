"""Benchmarks by meaning: seconds, and this kit's counts beside those published.

    python benchmarks/results/wordnet.py [--places FILE] [--wordnet FOLDER] [--pairs 2000]

Needs WordNet 3.0 and timm (extra `wordnet`). FILE is Places365's list of categories; without it what
concerns Places365 is left out. Printed:

- the CPU seconds of reading WordNet, of pruning ImageNet-21K-P against ImageNet-1K, and of the mean
  similarity of 1,000 x 365 synsets; and how much faster per pair that is than comparing ancestors singly;
- ID classes of ImageNet-1K against Places365 at T40, T45 and T50, beside Recalcati et al. 2023, table IV, and
  what other readings of the mean and of the thresholds give;
- each step of the pruning beside Yang, Zhang & Russakovsky 2024, appendix H, and what became of the 637
  classes of their appendix I, which are in benchmarks/results/imagenet_ood.txt.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from starter.wordnet.assign import ORGANISM, T40, T45, T50, Pruning, prune, similarity_benchmark
from starter.wordnet.labels import Matches, load_classes, match_classes
from starter.wordnet.similarity import mean_similarity, path_similarity, wu_palmer
from starter.wordnet.wordnet import WordNet, load_wordnet
from submission.arrays import FloatArray

PUBLISHED_ID = {T40: 56, T45: 90, T50: 140}
PUBLISHED = {"candidates": 5074, "sisters": 2874, "pairs": 13831}
FINAL = Path(__file__).with_name("imagenet_ood.txt")
T = TypeVar("T")


def timed(title: str, function: Callable[[], T]) -> T:
    start = time.process_time()
    result = function()
    print(f"{title:52} {time.process_time() - start:6.2f} s", flush=True)
    return result


def pair_by_pair(wordnet: WordNet, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The mean similarity of each pair, from the two synsets' ancestors."""
    top = np.log(2 * max(most for _, most in wordnet.depths.values()))
    found = []
    for first, second in pairs:
        up, other = wordnet.ancestors(first), wordnet.ancestors(second)
        shared = [synset for synset in up if synset in other]
        edges = min(up[synset] + other[synset] for synset in shared)
        lowest = max(shared, key=lambda synset: wordnet.depths[synset][0])
        nodes = 2 * (wordnet.depths[lowest][1] + 1)
        palmer = nodes / (nodes + up[lowest] + other[lowest])
        found.append((1 / (1 + edges) + 1 - np.log(1 + edges) / top + palmer) / 3)
    return found


def speed(wordnet: WordNet, imagenet: Matches, others: Sequence[str], count: int) -> None:
    """Print the seconds of the similarity matrix, and per pair against `pair_by_pair`."""
    synsets = list(imagenet.by_synset)
    title = f"mean similarity of {len(synsets):,} x {len(others)} synsets"
    start = time.process_time()
    timed(title, lambda: mean_similarity(wordnet, synsets, others))
    matrix = (time.process_time() - start) / (len(synsets) * len(others))
    rng = np.random.Generator(np.random.Philox(0))
    pairs = [(str(rng.choice(synsets)), str(rng.choice(others))) for _ in range(count)]
    start = time.process_time()
    pair_by_pair(wordnet, pairs)
    single = (time.process_time() - start) / count
    print(f"{'per pair, against pair by pair':52} {single / matrix:6.0f} times as fast")


def leacock_chodorow(wordnet: WordNet, first: Sequence[str], second: Sequence[str]) -> FloatArray:
    """Leacock & Chodorow's similarity of each of `first` (n) and each of `second` (m): (n, m)."""
    depth = np.log(2 * max(most for _, most in wordnet.depths.values()))
    return depth + np.log(path_similarity(wordnet, first, second))


def similarity_counts(wordnet: WordNet, places: Matches, imagenet: Matches) -> None:
    """Print the ID classes at each threshold, and those of other readings."""
    print(f"\n{places.describe()}")
    print("ID classes of ImageNet-1K against Places365      T40  T45  T50")
    print(f"{'published':46} {'':1}" + "".join(f"{count:5}" for count in PUBLISHED_ID.values()))
    counts = [
        sum(
            entry.assignment == "ID" and entry.source == imagenet.source
            for entry in similarity_benchmark(wordnet, places, [imagenet], threshold, 1.0)
        )
        for threshold in PUBLISHED_ID
    ]
    print(f"{'here: scaled mean, distance up to T':47}" + "".join(f"{count:5}" for count in counts))
    synsets, known = list(imagenet.by_synset), list(places.by_synset)
    path, palmer = path_similarity(wordnet, known, synsets), wu_palmer(wordnet, known, synsets)
    leacock = leacock_chodorow(wordnet, known, synsets)
    mean = mean_similarity(wordnet, known, synsets).max(0)
    raw = ((path + leacock + palmer) / 3).max(0)
    readings = {
        "scaled mean, similarity of T and more": [(mean >= level).sum() for level in PUBLISHED_ID],
        "mean / its maximum, unscaled, distance up to T": [
            (1 - raw / raw.max() <= level).sum() for level in PUBLISHED_ID
        ],
        "each min-max scaled, distance up to T": [
            (1 - minmax((path, leacock, palmer)).max(0) <= level).sum() for level in PUBLISHED_ID
        ],
        "path and Wu-Palmer alone, distance up to T": [
            (1 - ((path + palmer) / 2).max(0) <= level).sum() for level in PUBLISHED_ID
        ],
    }
    for title, found in readings.items():
        print(f"{title:47}" + "".join(f"{count:5}" for count in found))
    distance = (1 - mean).round(9)
    between = distance[(distance > T45) & (distance <= T50)]
    values, times = np.unique(between.round(3), return_counts=True)
    steps = ", ".join(f"{value:.3f} ({count})" for value, count in zip(values, times, strict=True))
    print(f"distances between T45 and T50, with how many classes: {steps}")
    all_pairs = (1 - mean_similarity(wordnet, known, synsets)).round(9) <= T50
    alone = {known[row]: int((all_pairs[row] & (all_pairs.sum(0) == 1)).sum()) for row in range(len(known))}
    most = sorted(alone, key=lambda synset: -alone[synset])[:5]
    shown = ", ".join(f"{places.by_synset[synset].label} ({alone[synset]})" for synset in most)
    print(f"labels that alone make most classes ID at T50: {shown}")


def minmax(measures: Sequence[np.ndarray]) -> np.ndarray:
    scaled = [(each - each.min()) / (each.max() - each.min()) for each in measures]
    return sum(scaled) / len(scaled)


def pruning_counts(wordnet: WordNet, pruning: Pruning, known: Matches, pool: Matches) -> None:
    """Print the steps, the published counts beside ours, and the fate of the published classes."""
    print(f"\n{pruning.describe()}")
    found = {entry.synset: entry for entry in pruning.entries[len(known.matches) :]}
    candidates = {
        synset for synset, entry in found.items() if entry.ood or entry.reason.startswith("covariate shift")
    }
    print(f"\ncandidates: published {PUBLISHED['candidates']:,}, here {len(candidates):,}")
    other_candidates(wordnet, known, pool)
    eaten_plants(wordnet, known, pool)
    below, ids = hyponyms(wordnet), set(known.by_synset)
    pairs = {
        synset: len(
            {sister for above in wordnet.hypernyms[synset] for sister in below[above]} & ids - {synset}
        )
        for synset in found
    }
    for title, group in (
        ("of the candidates", candidates),
        ("of the pool", set(found) - set(known.by_synset)),
    ):
        counts = [pairs[synset] for synset in group if pairs[synset]]
        published = f"published {PUBLISHED['sisters']:,} in {PUBLISHED['pairs']:,} pairs"
        print(f"sisters {title}: {published}, here {len(counts):,} in {sum(counts):,}")
    other_pairs(wordnet, known, pool)
    final = FINAL.read_text(encoding="utf-8").split()
    other_boundaries(wordnet, known, candidates)
    left = [found[synset].assignment for synset in final if found[synset].ood]
    print(
        f"published classes: {len(final)}; candidates {len(candidates & set(final))}; "
        f"left at the end {len(left)}, {left.count('near')} of them near"
    )
    for synset in final:
        if not found[synset].ood:
            print(f"  {synset} {wordnet.words[synset][0]}: {found[synset].reason}")


def hyponyms(wordnet: WordNet) -> dict[str, list[str]]:
    """The synsets directly below each synset."""
    below: dict[str, list[str]] = {synset: [] for synset in wordnet.words}
    for synset, above in wordnet.hypernyms.items():
        for hypernym in above:
            below[hypernym].append(synset)
    return below


def other_candidates(wordnet: WordNet, known: Matches, pool: Matches) -> None:
    """Print how many candidates other readings of hypernyms, hyponyms and of what is below organism leave."""
    organism = wordnet.synset(ORGANISM)
    first = replace(wordnet, hypernyms={synset: above[:1] for synset, above in wordnet.hypernyms.items()})
    for title, taxonomy, far in (
        ("all", wordnet, 99),
        ("direct ones only", wordnet, 1),
        ("along each first hypernym", first, 99),
    ):
        ids = set(known.by_synset)
        near = {
            synset: {above for above, edges in taxonomy.ancestors(synset).items() if edges <= far}
            for synset in (*ids, *pool.by_synset)
        }
        hypernyms = set().union(*(near[synset] for synset in ids))
        left = [
            synset
            for synset in pool.by_synset
            if synset not in hypernyms
            and not near[synset] & ids
            and organism not in taxonomy.ancestors(synset)
        ]
        print(f"hypernyms and hyponyms, {title}: {len(left):,} candidates")


def eaten_plants(wordnet: WordNet, known: Matches, pool: Matches) -> None:
    """Print how many plants are dropped as organisms that share their first word with a food."""
    ids, foods = set(known.by_synset), {wordnet.synset("food.n.01"), wordnet.synset("food.n.02")}
    plant, final = wordnet.synset("plant.n.02"), FINAL.read_text(encoding="utf-8").split()
    hypernyms = set().union(*(wordnet.ancestors(synset) for synset in ids))
    eaten = [
        synset
        for synset in pool.by_synset
        if plant in wordnet.ancestors(synset)
        and synset not in hypernyms
        and not ids & set(wordnet.ancestors(synset))
        and any(foods & set(wordnet.ancestors(sense)) for sense in wordnet.synsets(wordnet.words[synset][0]))
    ]
    print(f"plants named like a food: {len(eaten):,}, {len(set(eaten) & set(final))} of them published")


def other_pairs(wordnet: WordNet, known: Matches, pool: Matches) -> None:
    """Print the sisters and pairs that other pools give, with ID classes among the sisters and without."""
    ids, below = set(known.by_synset), hyponyms(wordnet)
    pools = {
        "21K-P": set(pool.by_synset),
        "21K": set(match_classes(wordnet, *load_classes("imagenet-21k")).by_synset),
        "WordNet": set(wordnet.hypernyms),
    }
    for title, group in pools.items():
        for others in (group - ids, group):
            pairs = [
                (synset, sister)
                for synset in ids
                for sister in {each for above in wordnet.hypernyms[synset] for each in below[above]}
                if sister in others and sister != synset
            ]
            count = len({sister for _, sister in pairs})
            too = ", ID classes too" * (others is group)
            print(f"sisters in {title}{too}: {count:,} in {len(pairs):,} pairs")


def other_boundaries(wordnet: WordNet, known: Matches, candidates: set[str]) -> None:
    """Print what the step "covariate shift" drops where only some common ancestors of ID classes count."""
    final = set(FINAL.read_text(encoding="utf-8").split())
    count = Counter(above for synset in known.by_synset for above in wordnet.ancestors(synset))
    measures: dict[str, Callable[[str, int], int]] = {
        "the deepest, by its shortest way": lambda synset, edges: wordnet.depths[synset][0],
        "the deepest, by its longest way": lambda synset, edges: wordnet.depths[synset][1],
        "the nearest": lambda synset, edges: -edges,
        "any": lambda synset, edges: 0,
    }
    for title, measure in measures.items():
        boundary = set()
        for synset in known.by_synset:
            above = wordnet.ancestors(synset)
            common = {each: measure(each, edges) for each, edges in above.items() if count[each] > 1}
            chosen = {each for each, value in common.items() if value == max(common.values())}
            boundary |= {each for each in above if count[each] == 1 and chosen & set(wordnet.hypernyms[each])}
        dropped = {synset for synset in candidates if boundary & set(wordnet.ancestors(synset))}
        print(f"one level below {title}: drops {len(dropped):,}, {len(dropped & final)} of them published")


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--places", type=Path, help="Places365's list of categories")
    parser.add_argument("--wordnet", type=Path, help="the folder of WordNet's files")
    parser.add_argument("--pairs", type=int, default=2000, help="pairs compared one by one")
    args = parser.parse_args()
    wordnet = timed("reading WordNet", lambda: load_wordnet(args.wordnet))
    imagenet, pool = (
        match_classes(wordnet, *load_classes(name)) for name in ("imagenet-1k", "imagenet-21k-p")
    )
    pruning = timed("pruning ImageNet-21K-P", lambda: prune(wordnet, imagenet, [pool]))
    places = match_classes(wordnet, *load_classes(str(args.places))) if args.places else None
    labelled = (
        [match.synset for match in places.matches if match.synset] if places else list(pool.by_synset)[:365]
    )
    speed(wordnet, imagenet, labelled, args.pairs)
    if places:
        similarity_counts(wordnet, places, imagenet)
    pruning_counts(wordnet, pruning, imagenet, pool)


if __name__ == "__main__":
    main()
