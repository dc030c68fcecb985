"""Streams: sets cut into windows, and an alarm that counts all windows, from one job to the next.

The alarm bets against "no window is below the limit". If that is so, the wealth exceeds 1 / a with a
probability of a at most, whenever one looks (Ville; Ramdas et al., Statistical Science 2023; Schirmer et al.,
arXiv 2507.08721). A window is bet on by the likelihood ratio of a fall, of the size that earlier windows show
since the last change (Page's CUSUM, Biometrika 1954), to none. Labels in windows correct the estimates, as in
prediction-powered risk monitoring (Zhang et al., arXiv 2602.02229). The sizes of errors that are allowed for,
and how labels are weighted, are the kit's own.
"""

import json
import math
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import TypeAdapter, ValidationError

from submission.arrays import IntArray
from submission.errors import UnusableInput, printable, unusable, why
from submission.files import write_text
from unseen.estimation.tables import MISSING, Given, read

SMALLEST = 20
"""Smallest number of images in a window."""
DEVIATIONS, ROOM = 1.6, 0.013
"""Standard errors of the labelled accuracy by which estimates may be too low, less ROOM: of 100 windows of
500 two points above the limit, estimated a point too low besides, 5 % then raise an alarm."""
KEPT = 0.97
"""Weight of a window's labels one window later: old labels tell less of what the estimates miss now."""
DOUBT = 1000
"""Number of labels up to which their difference from estimates counts twice or more for what these miss."""
FIRST = 0.5
"""Share of the wealth that bets from the first window on; the rest joins later, in streams of any length."""
PRIOR = 0.5
"""Number of windows without a fall that are added to those since the last change: bets begin carefully."""
ALIKE = 1e-3
"""Largest difference of numbers by which a model is recognized: machines round in different ways."""
TIMES = frozenset(("time", "timestamp", "date", "datetime", "day", "week", "month", "key"))
"""Headings, in lower case, of a column by which windows are cut."""
TIME_OF_DAY = re.compile(r"(\d{4}-\d\d-\d\d)[T ]\d.*")
FailOn = Literal["certain", "likely", "possible"]
OTHER_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b.*")


def natural(text: str) -> list[str | int]:
    """Returns a key that sorts texts by the numbers in them.

    >>> sorted(["b10", "b9", "2026-11-03", "a"], key=natural)
    ['2026-11-03', 'a', 'b9', 'b10']
    """
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"([0-9]+)", text))]


def cut(name: str, images: int, size: int | None, by: Any = None) -> dict[str, IntArray]:
    """Returns the rows of each window of a set, by the window's name, in the order of time.

    Without `by` a window has `size` images; a rest below size / 2 is added to the last. With `by`, a key for
    each image, it has the images of a key, and those of the next if they are less than `size`.

    >>> {name: len(rows) for name, rows in cut("today", 250, 100).items()}
    {'today 0-99': 100, 'today 100-199': 100, 'today 200-249': 50}
    >>> list(cut("today", 60, 20, ["2026-11-10"] * 30 + ["2026-11-09"] * 30))
    ['today 2026-11-09', 'today 2026-11-10']
    """
    if by is None:
        size = size or images
        parts = np.split(np.arange(images), range(size, images - (size - 1) // 2, size))
        return {f"{name} {rows[0]}-{rows[-1]}": rows for rows in parts}
    rows_of = dict[str, list[int]]()
    for row, key in enumerate(_read_keys(read(by, f"--by of {name}", "key"), name, images)):
        rows_of.setdefault(key, []).append(row)
    windows: list[tuple[str, list[int]]] = []
    for key in sorted(rows_of, key=natural):
        if not windows or len(windows[-1][1]) >= (size or SMALLEST):
            windows.append((f"{name} {printable(key)}", []))
        windows[-1][1].extend(rows_of[key])
    if len(windows) > 1 and len(windows[-1][1]) < (size or SMALLEST):
        windows[-2][1].extend(windows.pop()[1])
    return {called: np.array(rows) for called, rows in windows}


def _read_keys(given: Given, name: str, images: int) -> list[str]:
    """Returns the key of each image: a time's day, and anything else as it is."""
    values = given.values
    if isinstance(values, pd.DataFrame) and values.shape[1] > 1:
        values = values[[column for column in values if str(column).casefold() in TIMES]]
    keys = [re.sub(r"\.0$", "", str(value)) for value in pd.Series(np.ravel(values))]
    keys = keys[1:] if len(keys) == images + 1 else keys  # the heading of a column of texts
    if len(keys) != images:
        raise UnusableInput(
            f"{given.what} has {len(keys):,} dates or keys: give one column, with one for each of the "
            f"{images:,} images of {name}"
        )
    for row, key in enumerate(keys):
        if key.casefold() in MISSING | {"nat"} or OTHER_DATE.fullmatch(key):
            raise UnusableInput(
                f"{given.what}: row {row} has {key!a}: write it as 2026-11-03, or another key"
            )
    return [TIME_OF_DAY.sub(r"\1", key) for key in keys]


class Window(NamedTuple):
    """A window's estimate without labels and its interval's upper end; and the accuracy by its labels."""

    name: str
    images: int
    accuracy: float
    high: float
    labels: int = 0
    by_labels: float = 0.0


@dataclass(frozen=True)
class Stream:
    """The windows of a stream so far, as the file of `--state` keeps them.

    With `fail_on` "certain" an estimate without labels may be too low up to the end of its interval, with
    "likely" by what the labelled accuracy may err (`DEVIATIONS`), with "possible" not at all.
    """

    limit: float  # accuracy below which an alarm is wanted, a fraction
    fail_on: FailOn
    level: float  # bets would raise a false alarm with probability (1 - level) / 2 at most
    model: tuple[float, ...]  # numbers by which the model and the labelled images are recognized
    windows: int = 0
    wealth: float = math.log(FIRST)  # logarithm of what the bets have made of 1, without what joins later
    fall: float = 0.0  # sum, since the last change, of the falls below the limit over their variances
    weight: float = 0.0  # sum, since then, of the inverse variances
    excess: float = 0.0  # as `fall`, of the differences of estimates and labels; old ones count less
    known: float = 0.0  # as `weight`, of these
    since: str = ""  # first window since the last change, from which on the stream seems below
    raised: str = ""  # window in which the alarm was raised; nothing but another file ends it
    last: str = field(default="", compare=False)  # digest of the last job, which counts once
    version: Literal[1] = 1

    @property
    def alarm(self) -> str:
        """Since when the stream is below its limit, a sentence; "" if that is not shown."""
        below = f"below {100 * self.limit:g} % ({self.fail_on}) since {self.since}"
        return f"{below}, shown by {self.raised}" if self.raised else ""

    def __str__(self) -> str:
        """Returns what the windows say together, a line."""
        quiet = f"not shown to be below {100 * self.limit:g} % ({self.fail_on})"
        return f"stream of {self.windows:,} windows: {self.alarm or quiet}"

    def after(self, each: Window, error: float) -> "Stream":
        """Returns the stream with one window more; `error` is that of the accuracy on the labelled images."""
        windows = self.windows + 1
        if self.raised:
            return replace(self, windows=windows)
        precision = 1 / self._variance(each.labels) if each.labels else 0.0
        excess = KEPT * self.excess + precision * (each.accuracy - each.by_labels)
        learnt = replace(self, known=KEPT * self.known + precision, excess=excess)
        below, variance = learnt._below(each, error)
        size = self.fall / (self.weight + PRIOR / variance)
        joining = math.log((1 - FIRST) / (windows * (windows + 1)))
        wealth = float(np.logaddexp(self.wealth, joining)) + (size * below - size**2 / 2) / variance
        fall = self.fall + below / variance
        goes_on = fall > 0
        return replace(
            learnt,
            windows=windows,
            wealth=wealth,
            fall=max(fall, 0.0),
            weight=self.weight + 1 / variance if goes_on else 0.0,
            since=(self.since or each.name) if goes_on else "",
            raised=each.name if goes_on and wealth >= math.log(2 / (1 - self.level)) else "",
        )

    def _variance(self, images: int) -> float:
        """Returns the variance of the accuracy of so many images at the limit, .01 to .99 of them right."""
        return max(self.limit * (1 - self.limit), 0.01) / images

    def _below(self, each: Window, error: float) -> tuple[float, float]:
        """Returns how far a window is below the limit, less what its estimate may err by, and the variance.

        What labels tell of the estimates' error is shrunk towards 0, the less the further the two are apart.
        """
        accuracy = each.accuracy
        allowed = each.high - accuracy if self.fail_on == "certain" else max(DEVIATIONS * error - ROOM, 0)
        variance = self._variance(each.images)
        if self.known:
            difference = self.excess / self.known
            doubted = (1 + DOUBT / (self.known * self._variance(1))) * difference
            prior = max(allowed**2, error**2, doubted**2 - 1 / self.known)
            share = prior / (prior + 1 / self.known)
            accuracy -= share * difference
            allowed = math.sqrt(share / self.known)
            if each.labels:
                of_labels = self._variance(each.labels)
                own = share / (of_labels * self.known)
                variance = variance * (1 - own) ** 2 + own**2 * of_labels
        return self.limit - accuracy - (0 if self.fail_on == "possible" else allowed), variance

    def write(self, path: Path) -> None:
        """Write the stream for the next job."""
        write_text(path, json.dumps(asdict(self), indent=1) + "\n")


def begun(stream: Stream, path: Path | None) -> Stream:
    """Returns the stream in a file, if there is one; one with other settings than this is refused."""
    if path is None or not path.exists():
        return stream
    try:
        earlier = TypeAdapter(Stream).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        problem = ": ".join([*map(str, first["loc"]), first["msg"]])
        raise unusable(path, f"no stream that --state has written ({problem})") from error
    except OSError as error:
        raise unusable(path, f"cannot be read ({why(error)})") from error
    alike = len(earlier.model) == len(stream.model) and np.allclose(
        earlier.model, stream.model, rtol=0, atol=ALIKE
    )
    same = replace(stream, limit=earlier.limit, fail_on=earlier.fail_on, level=earlier.level) == stream
    if same and alike:
        return earlier
    of = f"{earlier.limit:g}, --fail-on {earlier.fail_on} and --level {earlier.level:g}"
    which = "of another model or other labelled images" if same else f"for the limit {of}"
    raise unusable(path, f"its stream is {which}: name another file, or remove this one")
