"""Audit of a competition: everything that could reveal a hidden label to participants, one line each."""

import json
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starter.classifiers import read_classifier
from starter.classifiers.engine import may_differ
from starter.competition.copies import copied, recurring, shared_with_public
from starter.competition.sets import PublicSets
from starter.observing.cache import cache_of
from starter.observing.observe import Observer, observe_all
from submission import Competition, SolutionRow, UnusableInput
from submission.metrics import spearman
from submission.random import AUDIT
from submission.solution import whole_solution

DEVIATIONS = 6.0
"""Excess of equal neighbours, in standard deviations above chance, that indicates an order."""


def ordered_by_class(competition: Competition, device: str = "cpu") -> Iterator[str]:
    """Yield a line for each test set in which neighbouring images are in the same class too often.

    Classes are predicted by the competition's first classifier; its observations are cached.
    """
    weights = min(file for file in competition.files if file.startswith("classifiers/"))
    name = weights.removeprefix("classifiers/").removesuffix(".safetensors")
    classifier = read_classifier(
        competition.file(weights), name, competition.precision, device, competition.engine
    )
    observer = Observer(classifier, cache_of(competition.root))
    for observation in observe_all(PublicSets(competition).stored("test"), observer, ()):
        excess = alike_neighbours(observation.predicted)
        if excess > DEVIATIONS:
            order = f"its images stand in the order of classes ({excess:.0f} standard deviations)"
            yield f"test set {observation.set_name}: {order}: shuffle them, build again"


def alike_neighbours(classes: NDArray[np.integer]) -> float:
    """Returns the excess of equal neighbours among n classes over a shuffle, in standard deviations.

    0 for n < 3.

    >>> alike_neighbours(np.repeat([0, 1], 50)) > 9
    True
    """
    n = len(classes)
    counts = np.bincount(classes)
    p = float((counts * (counts - 1)).sum() / max(n * (n - 1), 1))
    if n < 3 or p in (0.0, 1.0):
        return 0.0
    found = float((classes[1:] == classes[:-1]).mean())
    return (found - p) / float(np.sqrt(p * (1 - p) / (n - 1)))


LEAKED_SHARE = 0.05
"""Largest public fraction of a natural test set in a practice competition; in a hidden one it is 0."""
GUESSABLE = 2**32
"""Smallest test seed that cannot be guessed by trying all."""
CHANCE = 0.001
"""Probability under shuffling below which an order is reported."""
_SHUFFLES = 2000
_NEUTRAL = re.compile(r"test_\d{4,}")
_SEED = re.compile(r'seed\\*": ?(\d{10,})')
_NUMBER = re.compile(r"(?<![\w.])(?:0?\.\d+|[01](?:\.\d+)?)(?![\w.])")
_TEXT = (".csv", ".html", ".json", ".jsonl", ".md", ".txt", ".yaml", "")
_LONGEST = 64 << 20
"""Number of bytes of a text that are searched."""


@dataclass(frozen=True)
class Finding:
    """Something that could reveal a label.

    Attributes:
        grade: "error" (to be fixed before the competition is published) or "warning".
        text: One line with the file or set, and the remedy.
    """

    grade: str
    text: str

    def __str__(self) -> str:
        return f"{self.grade:<7}  {self.text}"


def audit(competition: Competition, device: str = "cpu") -> tuple[Finding, ...]:
    """Returns all findings in the organizer's copy, errors first.

    The audit reads the competition's folder only: it does not find images or labels published elsewhere.

    Args:
        competition: Organizer's copy of the competition.
        device: Device that runs the classifiers.

    Raises:
        UnusableInput: this is a participant's copy, a file of the competition was changed, or its classifiers
            cannot be read.
    """
    solution = whole_solution(competition)
    record = competition.private / "build.json"
    text = record.read_text(encoding="utf-8") if record.is_file() else ""
    checks: list[Iterator[Finding]] = [
        _visibility(competition, text),
        _permissions(competition),
        _seed(competition, text),
        _links_and_strays(competition),
        _secrets(competition, solution, text),
        _members(competition),
        _names(competition, solution, text),
        _set_order(competition, solution),
        _sizes(competition, solution),
        _pixels(competition),
        _recurrence(competition),
        _near_copies(competition),
        (Finding("error", line) for line in ordered_by_class(competition, device)),
    ]
    found = [finding for check in checks for finding in check]
    return tuple(sorted(found, key=lambda finding: finding.grade))


def rounding(competition: Competition) -> list[str]:
    """Returns a line on what computed the logits, and how far others may be who compute with something else.

    No line where PyTorch computed them.
    """
    if competition.engine == "torch":
        return []
    differing = may_differ(competition.precision)
    return [f"note     logits in {competition.computes}; where something else computes them, {differing}"]


def _visibility(competition: Competition, record: str) -> Iterator[Finding]:
    reach = _base_images(record)
    if competition.visibility == "practice":
        known = "practice: the test images are public, so that labels can be looked up"
        yield Finding("warning", f"{known}; {reach}" if reach else known)
        board = competition.root / "leaderboard.html"
        if board.is_file() and "practice" not in board.read_text(encoding="utf-8"):
            yield Finding("error", f"{board} does not say that this is practice: run `unseen leaderboard`")
    elif reach:
        yield Finding("warning", f"{reach}: make fewer or smaller sets")


def _permissions(competition: Competition) -> Iterator[Finding]:
    folders, cache = [competition.private], cache_of(competition.root).root
    if competition.track == "ood" and isinstance(cache, Path) and cache.is_dir():  # it tells IND from OOD
        folders.append(cache)
    for folder in folders:
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & 0o077:
            yield Finding("error", f"{folder} is open to others (mode {mode:04o}): chmod 700 {folder}")


def _seed(competition: Competition, record: str) -> Iterator[Finding]:
    path = competition.private / "build.json"
    if not record:
        yield Finding("warning", f"{path} is missing: recipes and seeds were not looked for")
        return
    try:
        seed = int(json.loads(record)["test_seed"])
    except (ValueError, KeyError, TypeError) as error:
        raise UnusableInput(f"{path} is damaged: restore it from a backup") from error
    if seed < GUESSABLE:
        told = "the test seed is below 2^32 and can be guessed: build another folder without --test-seed"
        yield Finding("error", told)


def _links_and_strays(competition: Competition) -> Iterator[Finding]:
    """Yield the files in public/ that are not from the build; `pack` omits them, but a copy has them."""
    private, listed = competition.private.resolve(), {*competition.files, "competition.json"}
    for path in sorted(competition.public.rglob("*")):
        if path.is_symlink() and Path(os.path.realpath(path)).is_relative_to(private):
            yield Finding("error", f"{path} leads into {competition.private}: remove the link")
        elif path.is_file() and path.relative_to(competition.public).as_posix() not in listed:
            yield Finding("warning", f"{path} is not part of the competition: remove it")


def _secrets(competition: Competition, solution: Sequence[SolutionRow], record: str) -> Iterator[Finding]:
    """Yield texts in public/ with hidden targets, seeds of test sets, or the origin of their images."""
    settings = json.loads(record).get("settings", {}) if record else {}
    named = {**dict.fromkeys(settings.get("test_from", ()), "from"), settings.get("test_ind", ""): "ind"}
    sources = {source: f"--test-{option}" for source, option in named.items() if len(source) > 3}
    seeds = {*_SEED.findall(record)} - {str(competition.seed)}
    for path in sorted(competition.public.rglob("*")):
        if path.suffix not in _TEXT or path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as stream:
            text = stream.read(_LONGEST).decode("utf-8", "replace")
        if _holds_targets(text, solution):
            yield Finding("error", f"{path} holds hidden targets of test sets: remove it")
        if any(seed in text for seed in seeds):
            yield Finding("error", f"{path} holds a seed of the test sets: remove it")
        if told := next((option for source, option in sources.items() if source in text), None):
            yield Finding("warning", f"{path} says where test images come from ({told})")


def _holds_targets(text: str, solution: Sequence[SolutionRow]) -> bool:
    """Returns True if most lines that name a test set hold its target, or a column holds all in order."""
    targets: dict[str, list[float]] = {}
    for row in solution:
        if row.prediction != 0.5:  # as in the sample submission
            targets.setdefault(row.set, []).append(row.prediction)
    told = missed = 0
    columns: dict[int, list[float]] = {}
    for line in text.splitlines():
        numbers = [float(number) for number in _NUMBER.findall(line)]
        for index, number in enumerate(numbers):
            columns.setdefault(index, []).append(number)
        named = [name for name in re.findall(r"[A-Za-z0-9][A-Za-z0-9._-]*", line) if name in targets]
        if named and numbers:
            hit = any(abs(number - t) < 1e-6 for number in numbers for t in targets[named[0]])
            told, missed = told + hit, missed + (not hit)
    truth = np.array([row.prediction for row in solution])
    in_order = any(
        len(column) == len(truth) and np.abs(truth - column).max() < 1e-6 for column in columns.values()
    )
    return in_order or told > missed


def _members(competition: Competition) -> Iterator[Finding]:
    for name in competition.sets("test"):
        path = competition.file(f"test/{name}.npz")
        with zipfile.ZipFile(path) as archive:
            others = sorted({*archive.namelist()} - {"images.npy"})
        if others:
            yield Finding("error", f"{path} holds {', '.join(others)} besides the images: build again")


def _names(competition: Competition, solution: Sequence[SolutionRow], record: str) -> Iterator[Finding]:
    families = re.findall(r'"family": "([^"]+)"', record)
    words = {word.casefold() for name in (*families, *competition.classes) for word in re.split(r"\W+", name)}
    words |= {row.group.casefold() for row in solution}
    for name in competition.sets("test"):
        if _NEUTRAL.fullmatch(name):
            continue
        telling = sorted(word for word in words if len(word) > 2 and word in name.casefold())
        grade = "error" if telling else "warning"
        why = f"tells {telling[0]!r}" if telling else "is not neutral, as test_0001 is"
        yield Finding(grade, f"test set {name!r}: its name {why}")


def _set_order(competition: Competition, solution: Sequence[SolutionRow]) -> Iterator[Finding]:
    """Yield orders of the test sets, by group or by target, that are improbable under shuffling."""
    groups = {row.set: row.group for row in solution}
    kinds = np.unique([groups[name] for name in competition.sets("test")], return_inverse=True)[1]
    means = {name: np.mean([row.prediction for row in solution if row.set == name]) for name in groups}
    targets = np.array([means[name] for name in competition.sets("test")])
    position = np.arange(len(targets))
    tells = {
        "group": _chance(kinds, lambda order: float((order[1:] == order[:-1]).mean())),
        "target": _chance(targets, lambda order: abs(spearman(position, order))),
    }
    for what, chance in tells.items():
        if chance < CHANCE:
            yield Finding(
                "error", f"the order of the test sets tells their {what}: shuffle them, build again"
            )


def _chance(values: NDArray[Any], statistic: Callable[[NDArray[Any]], float]) -> float:
    """Returns the p-value of the statistic of the values in their order, over shuffles."""
    rng = AUDIT(0)
    found = statistic(values)
    return (1 + sum(statistic(rng.permutation(values)) >= found for _ in range(_SHUFFLES))) / (1 + _SHUFFLES)


def _sizes(competition: Competition, solution: Sequence[SolutionRow]) -> Iterator[Finding]:
    sizes: dict[str, set[int]] = {}
    for row in solution:
        sizes.setdefault(row.group, set()).add(competition.sizes["test"][row.set])
    for group, mine in sizes.items():
        others = set().union(*(theirs for other, theirs in sizes.items() if other != group))
        if others and not mine & others:
            yield Finding("warning", f"the number of images tells which test sets are {group}: use one size")


def _pixels(competition: Competition) -> Iterator[Finding]:
    for name, where, count in shared_with_public(competition):
        n = competition.sizes["test"][name]
        grave = competition.visibility == "hidden" or count > LEAKED_SHARE * n
        text = f"{count} of the {n} images of test set {name} stand in public/{where}, pixel for pixel"
        yield Finding("error" if grave else "warning", f"{text}: take them out, build again")


def _recurrence(competition: Competition) -> Iterator[Finding]:
    """Yield an error if images recur: only IND images could be in mixes of several OOD sets."""
    if competition.track == "ood" and (found := recurring(competition)):
        sets = f"{len(found)} of {len(competition.sets('test'))} test mixes"
        text = f"{max(found.values())} images of a mix and fewer, in {sets}, stand in other test mixes too"
        yield Finding("error", f"{text}, which tells IND images from OOD images: build again")


def _near_copies(competition: Competition) -> Iterator[Finding]:
    """Returns grave where test images are hidden, and public ones show them."""
    for name, where, count in copied(competition):
        n, hidden = competition.sizes["test"][name], competition.visibility == "hidden"
        other = "other test mixes" if where == "test" else f"public/{where}"
        text = f"{count} of the {n} images of test set {name} are mirrored, shifted or compressed copies of"
        yield Finding("error" if hidden and where != "test" else "warning", f"{text} images in {other}")


def _base_images(record: str) -> str:
    """Returns how far the base images of the accuracy track reach, of which test sets take their turns.

    "" where no image stands in two sets.
    """
    turns = [(int(turn), int(around)) for turn, around in re.findall(r'"turn:(\d+):(\d+):', record)]
    if (most := max((1 + turn // around for turn, around in turns), default=1)) == 1:
        return ""
    return (
        f"each base image stands in {most} of {len(turns)} test sets, since {turns[0][1]} sets use all up, "
        "and a clean copy tells on a blurred one"
    )
