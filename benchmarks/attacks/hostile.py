"""Hostile submissions: how the kit stands 10,000 of them, and the harmless variants among them.

python benchmarks/attacks/hostile.py [--files 10000] [--seed 0]

Every file goes through `submission.validate`; one in 20 through `unseen validate` and `unseen score` too,
each in a process of its own. Prints crashes, tracebacks, files accepted or refused wrongly, leaks of hidden
targets or of characters that a terminal acts on, the peak memory, and the slowest file in seconds of
processor time, which other work on the machine does not lengthen. Exit code 1 where one breaks the promise:
none, under 300 MB, under 2 s.
"""

import argparse
import csv
import io
import itertools
import json
import os
import re
import stat
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from tqdm import tqdm

import leaderboard  # noqa: F401  (so that no fork has to)
import unseen
from submission import (
    Competition,
    InvalidSubmission,
    SolutionRow,
    UnusableInput,
    make_id,
    validate,
    write_predictions,
    write_sample,
    write_solution,
)
from submission.files import sha256
from submission.solution import solution_of

MOST_MEMORY = 300e6
MOST_SECONDS = 2.0
FAULTS = ("crashes", "tracebacks", "accepted wrongly", "refused wrongly", "leaks")
BATCH = 200
COMMANDS = 20
"""One file in so many goes through the command line."""
UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

Rng = np.random.Generator
Values = dict[str, str]
"""The predictions by id, as they are written."""


@dataclass(frozen=True)
class Case:
    """A file to hand in.

    Attributes:
        kind: the name of its generator.
        name: the file's.
        data: its bytes.
        verdict: "refused", "accepted", or "judged" where an independent reading decides.
    """

    kind: str
    name: str
    data: bytes
    verdict: str = "refused"


NOT_NUMBERS = (
    *("nan", "NaN", "inf", "-inf", "Infinity", "1_0", "0_1", "1_000", "1e999", "-1e999", "0x1", "0b1", "1e"),
    *("e5", ".", "", "-", "+-1", "--0", "0,5", "0.5f", "0.5%", "50 %", "1/2", "½", "０.５", "٠.٥", "०.५"),
    *("−0.5", "0·5", "1 0", "0.5\u200b", "\u202e0.5", "0.5\x1b[2J", "None", "null", "true", "=0.5", "@A1"),
    *("NA", "#N/A", "1j", "0.5 # no", "'0.5'", "$0.5", "0.5.5", "1e1e1", "∞", "ⅷ", "\x0b0.5", "0.5\x85"),
    *("0.5\xa0", "𝟎.𝟓", "1" * 100_000 + "x", "nan(0x1)", "1,000", "TRUE", "1e400", "1e" + "9" * 100_000),
)
OUTSIDE = ("-0.001", "1.0000001", "-1e-9", "2", "12", "100.5", "1e300", "-1", "1e2", "9" * 300)
NOT_CSV = (
    *(b"", b"\xef\xbb\xbf", b"\n", b"\r\n\r\n", b"\0", b"\0" * 1000, b"\x80\x04\x95\x10\x00\x00\x00."),
    *(b"\x89PNG\r\n\x1a\n", b"\x1f\x8b\x08\x00" + b"x" * 99, b"%PDF-1.7\n", b"\x93NUMPY\x01\x00v\x00{'|O'}"),
    *(b"<script>alert(1)</script>", b'{"id": 0.5}', b"[[]]", b"PK", b"PK\x05\x06", b"PK\x03\x04", b"\x7fELF"),
    *(b"!!python/object/apply:os.system ['true']", b"SQLite format 3\0", b"#!/bin/sh\ntrue\n", b",\n" * 500),
    *(b"," * 100_000, b'"' * 99_999, b"id,prediction\n" * 50, b"\n" * 500_000, b"a" * 900_000),
)
MEMBERS = (
    *("../answer.txt", "/answer.txt", "a/answer.txt", "..\\answer.txt", "C:\\a.csv", "C:a.csv", "a/../b.csv"),
    *("answer", "answer.txt.exe", "ANSWER", "metadata", "a.npy", "a.csv/", "answer.txt/", "\u202evsc.a"),
    "x" * 300,
)
HEADERS = (
    *("id;prediction", "ID,Prediction", "id,prediction,", "id", "prediction", "id,target", "id,id", ""),
    *("sep=,", "=cmd(),prediction", "id,prediction,prediction", "\x1b[2Jid,prediction"),
)
LINES = (
    *("\n", ",\n", "x\n", ",,\n", '"\n', '"a"b,0.5\n', "a,b,c\n", "\t\n", "\x00\n", "\x0c\n"),
    "a" * 200_000 + "\n",
)
NOT_UTF8 = (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf8", b"\0", b"\xfe\xff")
NOT_FILES = (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFDIR, stat.S_IFCHR)
PACKINGS = (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2)
BOMB = 50 << 20

T = TypeVar("T")
Files = Iterator[tuple[str, str | bytes]]
"""Names and contents."""


@dataclass(frozen=True)
class Result:
    """How often each fault occurred, the peak memory in bytes, the slowest file in seconds of processor."""

    found: dict[str, int]
    memory: float
    seconds: float

    @property
    def kept(self) -> bool:
        """Whether the promise was kept."""
        return not any(self.found.values()) and self.memory < MOST_MEMORY and self.seconds < MOST_SECONDS

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {fault}" for fault, count in self.found.items())
        return f"{counts}; at most {self.memory / 1e6:.0f} MB, {self.seconds:.2f} s"


def text_of(values: Values, header: str = "id,prediction", end: str = "\n") -> str:
    return end.join([header, *(f"{name},{number}" for name, number in values.items()), ""])


def answer_of(values: Values) -> str:
    return "".join(f"{number}\n" for number in values.values())


def zipped(*members: tuple[str, bytes], mode: int = 0, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of members that stand twice
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data, method)
    return stream.getvalue()


@cache
def bomb(name: str) -> bytes:
    return zipped((name, bytes(BOMB)))


def pick(rng: Rng, choices: Sequence[T]) -> T:
    return choices[int(rng.integers(len(choices)))]


def number_files(rng: Rng, values: Values) -> Files:
    name = pick(rng, list(values))
    wrong = pick(rng, NOT_NUMBERS)
    yield "a.csv", text_of({**values, name: f'"{wrong}"' if "," in wrong else wrong})
    yield "answer.txt", answer_of({**values, name: wrong})
    outside = {**values, name: pick(rng, OUTSIDE)}
    yield "a.csv", text_of(outside)
    yield "answer.txt", answer_of(outside)
    percent = {name: f"{100 * float(number):.2f}" for name, number in values.items()}
    yield "a.csv", text_of(percent)
    yield "answer.txt", answer_of(percent)


def id_files(rng: Rng, values: Values) -> Files:
    name = pick(rng, list(values))
    others = {key: number for key, number in values.items() if key != name}
    yield "a.csv", text_of(others)
    yield "a.csv", text_of(values) + f"{name},{values[name]}\n"
    strange = ["", " ", name.upper(), name.replace("t", "т"), f"{name}\u200b", f"../{name}", f"={name}"]
    strange += ["\x1b]0;x\x07", "x" * 90_000, "a,b", f"\u202e{name}", "cnn/test_9999"]
    yield "a.csv", text_of(others) + f"{pick(rng, strange)},0.5\n"
    yield "a.csv", text_of(values) + f"{pick(rng, strange)},0.5\n"
    yield "a.csv", text_of({key.replace("test", "val"): number for key, number in values.items()})
    yield "answer.txt", answer_of(others)
    yield "answer.txt", answer_of(values) + pick(rng, ("0.5\n", "\n", "0.5", "\n\n", "x"))


def shape_files(rng: Rng, values: Values) -> Files:
    text = text_of(values)
    lines = text.splitlines(keepends=True)
    at = int(rng.integers(1, len(lines)))
    yield "a.csv", text_of(values, pick(rng, HEADERS))
    yield "a.csv", "".join([*lines[:at], pick(rng, LINES), *lines[at:]])
    yield "a.csv", text[: int(rng.integers(len(text) - 12))]
    yield "a.csv", text.replace(",", pick(rng, (";", "\t", "|", " ", ",,", "\uff0c")))
    yield "a.csv", text.replace("\n", pick(rng, (",", " ", "\u2028", "\x0b", "\x85")))
    yield "a.csv", text.encode(pick(rng, ("utf-16", "utf-32", "utf-16-be", "cp500")))
    data = text.encode()
    cut = int(rng.integers(len(data)))
    yield "a.csv", data[:cut] + pick(rng, NOT_UTF8) + data[cut:]
    yield "a.csv", text * int(rng.integers(2, 60))
    yield pick(rng, ("a.csv", "answer.txt", "a.zip", "a")), pick(rng, NOT_CSV)
    yield pick(rng, ("a.csv", "answer.txt", "a.zip")), b"x" * int(rng.integers(2 << 20, 4 << 20))


def zip_files(rng: Rng, values: Values) -> Files:
    text = text_of(values).encode()
    good = zipped(("a.csv", text))
    yield "a.zip", zipped((pick(rng, MEMBERS), text))
    yield "a.zip", zipped(("a.csv", text), (pick(rng, ("a.csv", "b.csv", "answer.txt", "metadata")), text))
    yield "a.zip", zipped()
    yield "a.zip", zipped(("a.csv", text), mode=pick(rng, NOT_FILES) | 0o777)
    yield "a.zip", zipped(("a.csv", text), method=pick(rng, PACKINGS))
    yield "a.zip", zipped(("a.csv", good))
    yield pick(rng, ("a.zip", "a.csv")), bomb(pick(rng, ("a.csv", "answer.txt")))
    yield "a.zip", good[: int(rng.integers(1, len(good) - 1))]
    yield pick(rng, ("a.zip", "a.csv", "answer.txt", "a")), rng.bytes(int(rng.integers(1, 9))) + good
    central = good.index(b"PK\x01\x02")
    for field, value in ((6, 1), (8, 99)):  # encrypted; an unknown method
        data = bytearray(good)
        data[field] |= value
        data[central + field + 2] |= value
        yield "a.zip", bytes(data)
    data = bytearray(good)
    struct.pack_into("<I", data, central + 16, int(rng.integers(1, 2**32)))  # the sum
    yield "a.zip", bytes(data)


def changed_files(rng: Rng, values: Values) -> Files:
    """Valid files with some bytes changed, and bytes at random."""
    text = text_of(values).encode()
    forms = {"a.csv": text, "answer.txt": answer_of(values).encode(), "a.zip": zipped(("a.csv", text))}
    for name, data in forms.items():
        changed = bytearray(data)
        for _ in range(int(rng.integers(1, 6))):
            at = int(rng.integers(len(changed)))
            changed[at : at + int(rng.integers(3))] = rng.bytes(int(rng.integers(3)))
        yield name, bytes(changed)
    changed = bytearray(forms["a.zip"])
    sizes = changed.index(b"PK\x01\x02") + pick(rng, (20, 24))  # packed, unpacked
    struct.pack_into("<I", changed, sizes, int(rng.integers(2**32)))
    yield "a.zip", bytes(changed)
    yield "a.csv", rng.bytes(int(rng.integers(1, 2000)))
    yield "a.csv", b"id,prediction\n" + rng.bytes(int(rng.integers(1, 2000)))


def harmless_files(rng: Rng, values: Values) -> Files:
    """The variants that are accepted."""
    shuffled = {name: values[name] for name in rng.permutation(list(values)).tolist()}
    yield "a.csv", text_of(values)
    yield "a.csv", "\ufeff" + text_of(shuffled, end="\r\n")
    yield "a.csv", "\n".join(["prediction,id", *(f" {n} ,\t{name} " for name, n in shuffled.items())])
    yield "answer.txt", answer_of(values)
    yield "a.zip", zipped(("a.csv", text_of(shuffled).encode()))
    yield "a.zip", zipped(("answer.txt", answer_of(values).encode()))


KINDS: dict[str, tuple[str, Callable[[Rng, Values], Files]]] = {
    "numbers": ("refused", number_files),
    "ids": ("refused", id_files),
    "shapes": ("refused", shape_files),
    "zips": ("refused", zip_files),
    "changed": ("judged", changed_files),
    "harmless": ("accepted", harmless_files),
}
"""What a file is, and the verdict that it must get: "judged" where an independent reading decides."""


def cases(ids: Sequence[str], files: int, seed: int) -> Iterator[Case]:
    """`files` cases, the kinds in turn; the same seed gives the same."""
    made = 0
    for round_ in itertools.count():
        rng = np.random.Generator(np.random.Philox(key=[seed, round_]))
        drawn = rng.uniform(0.3, 0.99, len(ids))
        values = {name: f"{value:.4f}" for name, value in zip(ids, drawn, strict=True)}
        for kind, (verdict, generate) in KINDS.items():
            for name, data in generate(rng, values):
                if made == files:
                    return
                made += 1
                encoded = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
                yield Case(kind, name, encoded, verdict)


def judged_valid(case: Case, ids: Sequence[str]) -> bool:
    """An independent, naive reading: whether a file to be judged holds a plain fraction for every id."""
    if case.verdict != "judged":
        return False
    data = case.data
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            data = archive.read(archive.namelist()[0])
    text = data.decode("utf-8-sig")
    if "," not in text.partition("\n")[0]:
        numbers = text.split()
    else:
        rows = list(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True))
        header = [field.strip() for field in rows[0]]
        by_id = [
            (row[header.index("id")].strip(), row[header.index("prediction")].strip()) for row in rows[1:]
        ]
        if sorted(name for name, _ in by_id) != sorted(ids):
            return False
        numbers = [number for _, number in by_id]
    plain = all(number.isascii() and "_" not in number for number in numbers)
    return plain and len(numbers) == len(ids) and all(0 <= float(number) <= 1 for number in numbers)


@dataclass(frozen=True)
class Outcome:
    """What became of a file: the exit code, what was printed, seconds of processor time."""

    code: int
    output: str
    seconds: float


def validated(competition: Competition, paths: Sequence[Path], log: Path) -> tuple[list[Outcome], float]:
    """Validate files in a fork of this process; its peak memory in bytes. A crash leaves outcomes missing."""
    child = os.fork()
    if not child:
        with log.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            for path in paths:
                began = time.process_time()
                outcome = _library(competition, path)
                stream.write(json.dumps([*outcome, time.process_time() - began]) + "\n")
                stream.flush()
        os._exit(0)
    _, _, usage = os.wait4(child, 0)
    return [Outcome(*json.loads(line)) for line in log.read_text().splitlines()], usage.ru_maxrss * 1024


def _library(competition: Competition, path: Path) -> tuple[int, str]:
    try:
        validate(competition, path)
    except InvalidSubmission as error:
        return 1, str(error)
    except UnusableInput as error:
        return 2, str(error)
    except BaseException:
        return 70, traceback.format_exc()
    return 0, ""


def command(arguments: Sequence[str], log: Path) -> tuple[Outcome, float]:
    """Run `unseen` in a fork of this process, which has imported everything; its peak memory in bytes."""
    child = os.fork()
    if not child:
        with log.open("wb") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        sys.argv = ["unseen", *arguments]
        code = 0
        try:
            unseen.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        except BaseException:
            code = 70
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    _, status, usage = os.wait4(child, 0)
    output = log.read_bytes().decode("utf-8", "replace")
    seconds = usage.ru_utime + usage.ru_stime
    return Outcome(os.waitstatus_to_exitcode(status), output, seconds), usage.ru_maxrss * 1024


def faults(case: Case, outcome: Outcome, ids: Sequence[str], secrets: Sequence[str]) -> Iterator[str]:
    """What is wrong with the outcome, in the words of `FAULTS`."""
    if "Traceback" in outcome.output:
        yield "tracebacks"
    elif outcome.code not in (0, 1, 2):
        yield "crashes"
    if outcome.code == 0 and not (case.verdict == "accepted" or judged_valid(case, ids)):
        yield "accepted wrongly"
    if outcome.code in (1, 2) and case.verdict == "accepted":
        yield "refused wrongly"
    if UNSAFE.search(outcome.output) or any(secret in outcome.output for secret in secrets):
        yield "leaks"


def made_up(root: Path) -> Competition:
    """A competition of 200 ids without images, with targets that no file holds by chance."""
    subjects, sets = ("cnn", "vit"), [f"test_{number:04d}" for number in range(1, 101)]
    draft = Competition(
        root=root,
        name="hostile",
        track="accuracy",
        visibility="practice",
        source="made up",
        classes=("a", "b"),
        image_size=(8, 8),
        subjects=subjects,
        sizes={
            "train": {"train_1": 9},
            "val": {f"val_{n:04d}": 9 for n in range(1, 11)},
            "test": dict.fromkeys(sets, 9),
        },
        precision="float32",
        seed=0,
        settings={},
        files={},
    )
    rng = np.random.Generator(np.random.Philox(0))
    targets = rng.uniform(0.1, 0.9, 2 * len(sets)).tolist()
    ids = [(subject, name) for subject in subjects for name in sets]
    rows = [
        SolutionRow(make_id(*pair), target, ("Public", "Private")[i % 3 > 0], *pair, "seen")
        for i, (pair, target) in enumerate(zip(ids, targets, strict=True))
    ]
    write_solution(draft.private / "solution.csv", rows)
    write_sample(draft.public / "sample_submission.csv", draft.ids("test"))
    write_predictions(draft.public / "val/targets.csv", dict.fromkeys(draft.ids("val"), 0.5), column="target")
    files = {name: sha256(draft.public / name) for name in ("sample_submission.csv", "val/targets.csv")}
    Competition(**{**vars(draft), "files": files}).save()
    return Competition.open(root)


def attack(folder: Path, files: int, seed: int, progress: bool = True) -> Result:
    """Hand in `files` files made by `seed`; those with a fault are kept in `folder` and printed."""
    competition = made_up(folder / "contest")
    ids = competition.ids("test")
    secrets = [str(row.prediction)[:8] for row in solution_of(competition)]
    found: Counter[str] = Counter()
    memory = seconds = 0.0
    stream = cases(ids, files, seed)
    bar = tqdm(total=files, unit="file", disable=not progress)
    while batch := list(itertools.islice(stream, BATCH)):
        paths = [folder / f"{number}/{case.name}" for number, case in enumerate(batch)]
        for path, case in zip(paths, batch, strict=True):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(case.data)
        outcomes, peak = validated(competition, paths, folder / "log")
        found["crashes"] += len(batch) - len(outcomes)
        tried = list(zip(batch, outcomes, strict=False))
        for at in range(0, len(batch), COMMANDS):
            for arguments in (["validate"], ["score", "--team", "Team One"]):
                outcome, used = command([*arguments, str(competition.root), str(paths[at])], folder / "log")
                tried.append((batch[at], outcome))
                peak = max(peak, used)
        memory, seconds = max(memory, peak), max([seconds, *(outcome.seconds for _, outcome in tried)])
        for case, outcome in tried:
            for fault in faults(case, outcome, ids, secrets):
                kept = folder / f"{fault.replace(' ', '-')}-{sum(found.values())}-{case.name}"
                kept.write_bytes(case.data)
                print(f"{fault}: {case.kind}, {kept}, exit {outcome.code}: {outcome.output[-300:]}")
                found[fault] += 1
        for path in paths:
            path.unlink()
        bar.update(len(batch))
    return Result({fault: found[fault] for fault in FAULTS}, memory, seconds)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    result = attack(Path(tempfile.mkdtemp()), arguments.files, arguments.seed)
    print(f"{arguments.files:,} files: {result}")
    sys.exit(int(not result.kept))


if __name__ == "__main__":
    main()
