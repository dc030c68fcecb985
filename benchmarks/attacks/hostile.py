"""Hostile submissions: how the kit stands 10,000 of them, and the harmless variants among them.

python benchmarks/attacks/hostile.py [--files 10000] [--seed 0]

Every file goes through `scoring.validate`; one in 20 through `unseen validate` and `unseen score` too. Exit
code 1 for a crash, traceback, wrong verdict, or leak (of hidden targets, or of characters that a terminal
acts on), 300 MB or more, or a file that takes 2 s of processor time.
"""

import csv
import io
import itertools
import json
import os
import random
import re
import resource
import shutil
import stat
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from contest import make, parser

import unseen
from submission import Competition, InvalidSubmission, UnusableInput
from submission.scoring import validate
from submission.solution import solution_of

FAULTS = ("crashes", "tracebacks", "accepted wrongly", "refused wrongly", "leaks")
UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
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
    *("answer", "answer.txt.exe", "metadata", "a.npy", "a.csv/", "answer.txt/", "\u202evsc.a", "x" * 300),
)
LINKS = (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFDIR, stat.S_IFCHR)
HEADERS = ("id;prediction", "ID,Prediction", "id,prediction,", "id", "id,target", "id,id", "", "\x1b[2Jid")
LINES = (",\n", "x\n", '"\n', '"a"b,0.5\n', "a,b,c\n", "\x00\n", "\x0c\n", "a" * 200_000 + "\n")
STRANGE_IDS = ("", " ", "../a", "=a", "\x1b]0;x\x07", "x" * 90_000, "a,b", "\u202ea", "one/test_9999")

Rng = random.Random
Values = dict[str, str]  # the predictions by id, as they are written
Files = Iterator[tuple[str, str | bytes]]  # names and contents
Kind = Callable[[Rng, Values], Files]
Outcome = tuple[int, str, float]  # exit code, what was printed, seconds of processor time


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


BOMBS = [zipped((name, bytes(50 << 20))) for name in ("a.csv", "answer.txt")]


def row_files(rng: Rng, values: Values) -> Files:
    """Numbers and ids that are none, are missing or stand twice."""
    name, wrong = rng.choice(list(values)), rng.choice(NOT_NUMBERS)
    yield "a.csv", text_of({**values, name: f'"{wrong}"' if "," in wrong else wrong})
    yield "answer.txt", answer_of({**values, name: wrong})
    percent = {key: f"{100 * float(number):.2f}" for key, number in values.items()}
    for numbers in ({**values, name: rng.choice(OUTSIDE)}, percent):
        yield from (("a.csv", text_of(numbers)), ("answer.txt", answer_of(numbers)))
    others = {key: number for key, number in values.items() if key != name}
    strange = [*STRANGE_IDS, name, name.upper(), name.replace("t", "т"), f"{name}\u200b"]
    yield "a.csv", text_of(others)
    yield "a.csv", text_of(others) + f"{rng.choice(STRANGE_IDS)},0.5\n"
    yield "a.csv", text_of(values) + f"{rng.choice(strange)},0.5\n"
    yield "a.csv", text_of({key.replace("test", "val"): number for key, number in values.items()})
    yield "answer.txt", answer_of(others)
    yield "answer.txt", answer_of(values) + rng.choice(("0.5\n", "0.5", "x"))


def shape_files(rng: Rng, values: Values) -> Files:
    """Other headers, lines, separators and encodings, and files of other kinds."""
    text = text_of(values)
    lines, data = text.splitlines(keepends=True), text.encode()
    at, cut = rng.randrange(1, len(lines)), rng.randrange(len(data))
    yield "a.csv", text_of(values, rng.choice(HEADERS))
    yield "a.csv", "".join([*lines[:at], rng.choice(LINES), *lines[at:]])
    yield "a.csv", text[: rng.randrange(len(text) - 12)]
    yield "a.csv", text.replace(",", rng.choice((";", "\t", "|", " ", ",,", "\uff0c")))
    yield "a.csv", text.replace("\n", rng.choice((",", " ", "\u2028", "\x0b", "\x85")))
    yield "a.csv", text.encode(rng.choice(("utf-16", "utf-32", "utf-16-be", "cp500")))
    yield "a.csv", data[:cut] + rng.choice((b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\0")) + data[cut:]
    yield "a.csv", text * rng.randrange(2, 60)
    yield rng.choice(("a.csv", "answer.txt", "a.zip", "a")), rng.choice(NOT_CSV)
    yield rng.choice(("a.csv", "answer.txt", "a.zip")), b"x" * rng.randrange(2 << 20, 4 << 20)


def zip_files(rng: Rng, values: Values) -> Files:
    """Zips of other members, links, bombs and lies."""
    text = text_of(values).encode()
    good = zipped(("a.csv", text))
    yield "a.zip", zipped((rng.choice(MEMBERS), text))
    yield "a.zip", zipped(("a.csv", text), (rng.choice(("a.csv", "b.csv", "answer.txt", "metadata")), text))
    yield "a.zip", zipped()
    yield "a.zip", zipped(("a.csv", text), mode=rng.choice(LINKS) | 0o777)
    yield "a.zip", zipped(("a.csv", text), method=rng.choice((zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2)))
    yield "a.zip", zipped(("a.csv", good))
    yield rng.choice(("a.zip", "a.csv")), rng.choice(BOMBS)
    yield "a.zip", good[: rng.randrange(1, len(good) - 1)]
    yield rng.choice(("a.zip", "a.csv", "answer.txt", "a")), rng.randbytes(rng.randrange(1, 9)) + good
    central = good.index(b"PK\x01\x02")
    for field, value in ((6, 1), (8, 99)):  # encrypted; an unknown method
        data = bytearray(good)
        data[field] |= value
        data[central + field + 2] |= value
        yield "a.zip", bytes(data)
    yield "a.zip", good[: central + 16] + rng.randrange(1, 2**32).to_bytes(4, "little") + good[central + 20 :]


def changed_files(rng: Rng, values: Values) -> Files:
    """Valid files with some bytes changed, and bytes at random."""
    text = text_of(values).encode()
    good = zipped(("a.csv", text))
    for name, data in (("a.csv", text), ("answer.txt", answer_of(values).encode()), ("a.zip", good)):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(changed))
            changed[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        yield name, bytes(changed)
    sizes = good.index(b"PK\x01\x02") + rng.choice((20, 24))  # packed, unpacked
    yield "a.zip", good[:sizes] + rng.randrange(2**32).to_bytes(4, "little") + good[sizes + 4 :]
    yield "a.csv", rng.choice((b"", b"id,prediction\n")) + rng.randbytes(rng.randrange(1, 2000))


def harmless_files(rng: Rng, values: Values) -> Files:
    """The variants that are accepted."""
    shuffled = {name: values[name] for name in rng.sample(list(values), len(values))}
    yield "a.csv", text_of(values)
    yield "a.csv", "\ufeff" + text_of(shuffled, end="\r\n")
    yield "a.csv", "\n".join(["prediction,id", *(f" {n} ,\t{name} " for name, n in shuffled.items())])
    yield "answer.txt", answer_of(values) + rng.choice(("", "\n", "\n\n", " \r\n"))
    lines = text_of(values).splitlines(keepends=True)
    at = rng.randrange(len(lines) + 1)
    yield "a.csv", "".join([*lines[:at], rng.choice(("\n", "\t\n", "\r\n")), *lines[at:]])
    yield "a.zip", zipped(("a.csv", text_of(shuffled).encode()))
    yield "a.zip", zipped(("answer.txt", answer_of(values).encode()))


KINDS: tuple[Kind, ...] = (row_files, shape_files, zip_files, changed_files, harmless_files)
"""All but harmless ones are refused, and but for changed ones that an independent reading accepts."""


def cases(ids: Sequence[str], seed: int) -> Iterator[tuple[Kind, str, bytes]]:
    """Kind, name and bytes of files without end, the kinds in turn; the same seed gives the same."""
    for round_ in itertools.count():
        rng = Rng(f"{seed} {round_}")
        values = {name: f"{rng.uniform(0.3, 0.99):.4f}" for name in ids}
        for kind in KINDS:
            for name, data in kind(rng, values):
                yield kind, name, data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")


def read_naively(data: bytes, ids: Sequence[str]) -> bool:
    """An independent reading of a file that was accepted: whether it holds a plain fraction for every id."""
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            data = archive.read(archive.namelist()[0])
    text = data.decode("utf-8-sig")
    numbers = text.split()
    if "," in text.partition("\n")[0]:
        rows = list(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True))
        first = [field.strip() for field in rows[0]].index("id")
        numbers = [row[1 - first].strip() for row in rows[1:]]
        if sorted(row[first].strip() for row in rows[1:]) != sorted(ids):
            return False
    plain = all(number.isascii() and "_" not in number for number in numbers)
    return plain and len(numbers) == len(ids) and all(0 <= float(number) <= 1 for number in numbers)


def outcome(competition: Competition, path: Path, command: Sequence[str]) -> Outcome:
    """What becomes of a file in a command, or in the library where no command is given."""
    stream, began, code = io.StringIO(), time.process_time(), 0
    sys.argv = ["unseen", *command, str(competition.root), str(path)]
    with redirect_stdout(stream), redirect_stderr(stream):
        try:
            unseen.main() if command else validate(competition, path)
        except (InvalidSubmission, UnusableInput) as error:
            code = 1
            print(error)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        except BaseException:
            code = 70
            traceback.print_exc()
    return code, stream.getvalue(), time.process_time() - began


def outcomes(competition: Competition, path: Path, commands: Sequence[list[str]], log: Path) -> list[Outcome]:
    """What becomes of a file in each command, in a fork of this process; nothing after a crash."""
    log.write_text("[]")
    child = os.fork()
    if not child:
        try:
            log.write_text(json.dumps([outcome(competition, path, each) for each in commands]))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return [(code, output, seconds) for code, output, seconds in json.loads(log.read_text())]


def faults(
    kind: Kind, data: bytes, code: int, output: str, ids: Sequence[str], secrets: Sequence[str]
) -> Iterator[str]:
    """What is wrong with an outcome, in the words of `FAULTS`."""
    if "Traceback" in output:
        yield "tracebacks"
    elif code not in (0, 1, 2):
        yield "crashes"
    if code == 0 and not (kind is harmless_files or (kind is changed_files and read_naively(data, ids))):
        yield "accepted wrongly"
    if code in (1, 2) and kind is harmless_files:
        yield "refused wrongly"
    if UNSAFE.search(output) or any(secret in output for secret in secrets):
        yield "leaks"


def main() -> None:
    words = parser(__doc__)
    words.add_argument("--files", type=int, default=10_000)
    words.add_argument("--seed", type=int, default=0)
    options = words.parse_args()
    folder = Path(tempfile.mkdtemp())
    competition = make(folder / "contest", images=999_999_937)  # so that no file holds a label by chance
    ids = competition.ids("test")
    secrets = [str(row.prediction)[:8] for row in solution_of(competition)]
    found, slowest = Counter(dict.fromkeys(FAULTS, 0)), 0.0
    for number, (kind, name, data) in enumerate(itertools.islice(cases(ids, options.seed), options.files)):
        (folder / name).write_bytes(data)
        commands = [[]] if number % 20 else [[], ["validate"], ["score", "--team", "Team One"]]
        tried = outcomes(competition, folder / name, commands, folder / "log")
        found["crashes"] += not tried
        for code, output, seconds in tried:
            slowest = max(slowest, seconds)
            for fault in faults(kind, data, code, output, ids, secrets):
                found[fault] += 1
                file = folder / f"{number}-{name}"
                file.write_bytes(data)
                print(f"{fault}: {kind.__name__}, {file}, exit {code}: {output[-300:]}")
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    if not found.total():
        shutil.rmtree(folder)
    counts = ", ".join(f"{count} {fault}" for fault, count in found.items())
    print(f"{options.files:,} files: {counts}; at most {memory / 1e6:.0f} MB, {slowest:.2f} s")
    sys.exit(bool(found.total()) or memory > 300e6 or slowest > 2)


if __name__ == "__main__":
    main()
