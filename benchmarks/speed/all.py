"""Run every benchmark of speed, and write the table of docs/results/speed.md.

    python benchmarks/speed/all.py --folder FOLDER [--only TEXT] [--quick] [--repeat 3] [--write]

Each row is one command, run in a process of its own with one thread, --repeat times; its figure is the median
of what it printed, with the smallest and the largest in brackets. What ran is kept in FOLDER, so that an
interrupted run goes on, and a row is measured again where its file is taken away. --quick runs smaller sizes,
once: it shows that a command works, and writes nothing. --only runs the rows whose words hold a text. Rows
that need real data are run where UNSEEN_DATA names a folder with them, and left as they are elsewhere.
--write puts what was measured into the table, with commit and day; the other rows stay as they were. The
module is long because half of its lines are the rows.
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from starter.operations import GROUPS
from submission.files import write_text

sys.path.append(str(Path(__file__).resolve().parents[1] / "results"))
import pages

TABLE = "speed-figures"
COLUMNS = ("what", "figure", "command", "measured")
NUMBER = r"([\d.,]+)"


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        what: was measured.
        command: below benchmarks/speed, with its options.
        quick: its options that make it smaller; without any it is left out of a quick run.
        patterns: each finds one number in what it prints.
        figure: the numbers in words, "{}" for each.
        data: whether real data are needed.
    """

    what: str
    command: str
    patterns: tuple[str, ...]
    figure: str
    quick: str = ""
    data: bool = False

    @property
    def shown(self) -> str:
        """The command as people give it."""
        given = "UNSEEN_DATA=FOLDER " if self.data else ""
        return f"`{given}OMP_NUM_THREADS=1 python benchmarks/speed/{self.command}`"

    def file(self, folder: Path, number: int, quick: bool) -> Path:
        """Where the output of a run is kept."""
        name = re.sub(r"[^\w.-]+", "_", self.command) + ("-quick" if quick else "")
        return folder / f"{name}-{number}.txt"


CLASSES = (10, 100, 1000)
STARTS = ("import unseen", "unseen --help", "unseen estimate", "unseen.estimate, again")

RENDERED = {
    "default": (10, 2000),
    "a": (5, 1000),
    "b": (5, 1000),
    "corruptions": (5, 300),
    "natural-like": (5, 1000),
}
"""Groups of operations: sets, and images a set; some corruptions take milliseconds image by image."""


def rendering(group: str) -> str:
    """The command that measures a group."""
    sets, images = RENDERED[group]
    return f"render.py --group {group} --sets {sets} --images {images}"


ROWS = (
    Row(
        "forward passes / plain float32 ones: float32 (ResNet-56; RepVGG-A0)",
        "forward.py",
        (
            r"resnet56\n.*\n  torch float32 .*plain " + NUMBER,
            r"repvgg_a0\n.*\n  torch float32 .*plain " + NUMBER,
        ),
        "{}; {}",
        "--images 100 --rounds 2",
    ),
    Row(
        "forward passes by OpenVINO / by PyTorch in float32: float32 (ResNet-56; RepVGG-A0)",
        "forward.py",
        tuple(
            rf"{arch}\n(?:  .*\n)*  openvino float32 .*torch float32 {NUMBER}"
            for arch in ("resnet56", "repvgg_a0")
        ),
        "{}; {}",
        "--images 100 --rounds 2",
    ),
    *(
        Row(
            f"build and observe / bare forward passes, float32, {name}",
            f"observe.py --arch {arch} --sets 1 --rounds 3",
            (r"one pass.*\n.*\n.*time ratio " + NUMBER,),
            "{}",
            "--rounds 1",
        )
        for arch, name in (("resnet56", "ResNet-56"), ("repvgg_a0", "RepVGG-A0"))
    ),
    *(
        Row(
            f"rendering group {group} / image by image with Pillow, OpenCV, NumPy and SciPy",
            rendering(group),
            (rf"(?m)^group {group} .*: +{NUMBER}x",),
            "{} times",
            "--sets 1 --images 100 --rounds 2",
        )
        for group in RENDERED
    ),
    *(
        Row(
            f"operations of group {group}, each alone, / image by image",
            rendering(group),
            tuple(rf" {name} alone .*: +{NUMBER}x" for name in GROUPS[group]),
            "; ".join(f"{name} {{}}" for name in GROUPS[group]),
            "--sets 1 --images 100 --rounds 2",
        )
        for group in RENDERED
    ),
    Row(
        "image statistics / a loop with OpenCV and NumPy: embedded images; noise",
        "image_stats.py",
        (r"embedded images: .*, " + NUMBER + " times", r"noise: .*, " + NUMBER + " times"),
        "{}; {} times",
        "--images 1000 --rounds 2",
    ),
    Row(
        "Fréchet distance / with `sqrtm`, d = 1280: alone; many sets, one reference; eigenvalues alone",
        "fd.py --sets 4",
        (
            r"one distance .* s, " + NUMBER + " times",
            r"many sets: .* each, " + NUMBER + " times",
            r"eigenvalues alone: .* s, " + NUMBER + " times",
        ),
        "{}; {}; {} times",
        "--dim 256 --images 1000 --sets 2",
    ),
    Row(
        "Fréchet distance / with `sqrtm`, d = 1280, sets of 500 images: many sets, one reference",
        "fd.py --sets 4 --images 500",
        (r"many sets: .* each, " + NUMBER + " times",),
        "{} times",
        "--dim 256 --images 100 --sets 2",
    ),
    Row(
        "`cott` on 1,000 images of 10; 100; 1,000 classes, seconds of processor time",
        "large.py",
        tuple(rf"cott, +{k} classes +{NUMBER} s" for k in CLASSES),
        "{}; {}; {} s a set",
        "--images 100 --features 128",
    ),
    Row(
        "POT's exact transport / the kit's, 1,000 images, 10; 100; 1,000 classes",
        "large.py",
        tuple(rf"cott, +{k} classes.*\n  transport .*: {NUMBER} times" for k in CLASSES),
        "{}; {}; {} times",
        "--images 100 --features 128",
    ),
    Row(
        "1,000 classes, 2,048 features, sets of 1,000: `fd`; `dispersion`; `bop`; `cott`",
        "large.py",
        tuple(rf"(?m)^{name} +{NUMBER} s" for name in ("fd", "dispersion", "bop", "cott")),
        "{}; {}; {}; {} s a set",
        "--images 100 --features 128",
    ),
    Row(
        "ORA-A's steps: the kit's / with PyTorch's DataLoader; with whole batches",
        "ora_a.py",
        (r"DataLoader: .*the kit is " + NUMBER, r"whole batches: .*the kit is " + NUMBER),
        "{}; {} times",
        "--steps 5 --rounds 1",
    ),
    Row(
        "images a second of processor time: ResNet-56; the referee EfficientNet-Lite0 at 96; at 128 pixels",
        "referee.py --labelled 0",
        tuple(rf"{name} float32 +{NUMBER} images/s" for name in ("resnet56", "lite0 96", "lite0 128")),
        "{}; {}; {}",
        "--images 50 --rounds 1",
    ),
    Row(
        "start, seconds of processor time: `import unseen`; `unseen --help`; `unseen estimate` of 10,000 "
        "x 10 logits; `unseen.estimate`, called again",
        "startup.py",
        tuple(rf"`{re.escape(name)}` +{NUMBER} s of processor" for name in STARTS),
        "{}; {}; {}; {} s",
        "--rounds 1",
    ),
    Row(
        "start of every command, `--help`, seconds of processor time: median; slowest",
        "startup.py",
        (r"commands: median " + NUMBER, r"at most " + NUMBER),
        "{}; {} s",
        "--rounds 1",
    ),
    Row(
        "`unseen estimate` from a model and photographs: ResNet-18, 2,000 + 2,000 at 224 pixels, 24 sets",
        "photographs.py",
        (r"processor, s +" + NUMBER,),
        "{} s of processor time",
        "--images 100 --size 64 --sets 10",
        data=True,
    ),
    *(
        Row(
            f"`unseen {' '.join(words)}`, processor time; most memory",
            " ".join(("demo.py", *words[1:])),
            (rf": \d+ s, {NUMBER} s of CPU", NUMBER + " GB"),
            "{} s; {} GB",
        )
        for words in (("demo",), ("demo", "--track", "ood"))
    ),
    Row(
        "40 sets of 1,000, ResNet-56, by what was computed: two cluster workers / one process; one worker "
        "more than none",
        "cluster.py speed",
        (r"computed: two workers " + NUMBER + " times", r"computed: .*overhead of one worker (-?\d+) %"),
        "{} times; {} %",
        "--sets 4 --size 100",
        data=True,
    ),
    Row(
        "what a worker of a cluster may lack: a full disk; a store that refuses one request in ten",
        "cluster.py faults",
        (r"full disk on one of two workers: (identical)", r"refused \d+ requests: (identical)"),
        "{}; {}",
    ),
    Row(
        "scikit-learn's exact 10th neighbours / the kit's, 20,000 x 20,000 x 256: cosine; Euclidean of "
        "unit rows",
        "shift.py",
        (r"cosine .* s +" + NUMBER + " times", r"Euclidean .* s +" + NUMBER + " times"),
        "{}; {} times",
        "--queries 500 --reference 500",
    ),
)


def output(row: Row, folder: Path, number: int, quick: bool) -> str:
    """What a run of the row's command printed, run now unless it is kept."""
    path = row.file(folder, number, quick)
    if not path.exists():
        script, *options = row.command.split()
        chosen = row.quick.split() if quick else []
        command = [sys.executable, str(Path(__file__).with_name(script)), *options, *chosen]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False
        )
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["no reason"]
            raise RuntimeError(f"{row.command}: {last[0]}")
        write_text(path, done.stdout)
    return path.read_text(encoding="utf-8")


def figure(row: Row, texts: Sequence[str]) -> str:
    """The medians of what the runs printed, with their ranges."""
    words = []
    for pattern in row.patterns:
        found = [re.search(pattern, text) for text in texts]
        if not all(found):
            raise RuntimeError(f"{row.command} prints nothing like {pattern}")
        told = [match[1].replace(",", "").rstrip(".") for match in found if match]
        if told[0].isalpha():
            words.append(" ".join(sorted({*told})))
            continue
        values = [*map(float, told)]
        low, middle, high = min(values), statistics.median(values), max(values)
        words.append(f"{middle:,g}" + (f" ({low:,g} to {high:,g})" if low < high else ""))
    return row.figure.format(*words)


def measured(rows: Sequence[Row], folder: Path, repeat: int, quick: bool) -> Iterator[dict[str, str]]:
    """Yield each row's line when it was measured; what fails is told, and the others go on."""
    day = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    for row in rows:
        if quick and not row.quick:
            continue
        if row.data and "UNSEEN_DATA" not in os.environ:
            print(f"{row.what}: left out, UNSEEN_DATA names no folder", flush=True)
            continue
        try:
            told = figure(row, [output(row, folder, number, quick) for number in range(repeat)])
        except RuntimeError as error:
            print(f"FAILED: {error}", flush=True)
            continue
        print(f"{row.what}: {told}", flush=True)
        yield dict(zip(COLUMNS, (row.what, told, row.shown, f"{pages.checked_out()}, {day}"), strict=True))


def merged(lines: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The table with these lines in place of those of the same name."""
    with (pages.DATA / f"{TABLE}.csv").open(encoding="utf-8", newline="") as stream:
        before = {row["what"]: row for row in csv.DictReader(stream)}
    return list({**before, **{line["what"]: line for line in lines}}.values())


def main() -> None:
    """Measure, print and write."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = [row for row in ROWS if options.only in f"{row.what} {row.command}"]
    repeat = 1 if options.quick else options.repeat
    lines = list(measured(rows, options.folder, repeat, options.quick))
    if options.write and lines and not options.quick:
        pages.record(TABLE, merged(lines), command="each by its own command")
        pages.main()


if __name__ == "__main__":
    main()
