"""The tables of docs/results: what a benchmark found goes into a CSV, and from there into its page.

    python benchmarks/results/pages.py [--check]

writes every page of docs/results again; with --check it lists each table with commit, date and command, and
says what is wrong. A table stands between two lines, ``<!-- table: NAME -->`` and
``<!-- end -->``, and is docs/results/data/NAME.csv; below it stands what docs/results/data/NAME.json says of
it: command, commit, date and perhaps a note. The text around it is written by hand. A test compares pages and
CSVs. A benchmark calls `show`, `record` or `merge`, most of them where --write is given.

Commits that a page or a table names are ancestors of the one that is checked out. A number with a decimal, or
before %, points or times, is in a table that its page shows or links: as it is, rounded, or in percent.
A setting, which is in none, is named in a line ``<!-- settings: .05, 93.4 -->``.
"""

import argparse
import csv
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from submission.files import write_text

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "results"
DATA = PAGES / "data"
TABLE = re.compile(r"(<!-- table: ([a-z0-9-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
SHOWN = re.compile(r"<!-- table: ([a-z0-9-]+) -->|\(data/([a-z0-9-]+)\.csv\)")
SETTINGS = re.compile(r"<!-- settings: (.*) -->")
COMMIT = re.compile(r"(?<![\w.])(?=\d*[a-f])(?=[a-f]*\d)([0-9a-f]{7,40})(?!\w)")
NO_PROSE = re.compile(
    r"<!-- table.*?<!-- end -->|```.*?```|<!--.*?-->|`[^`]*`|\]\([^)]*\)|^\|.*?$"
    r"|\b(?:[Tt]able|[Ff]igure|[Vv]ersion|eq\.)s? [\d., toand]+|\b\d\d % interval",
    re.DOTALL | re.MULTILINE,
)
"""Tables, code, links, and numbers that name a table, a figure, a version or a usual interval."""
NUMBER = re.compile(r"(?<![\w.,@-])(?:(?:\d[\d,]*)?\.\d+|\d[\d,]*(?= ?(?:%|points?\b|times\b)))(?![\w.]*\w)")
"""A number of prose that has to stand in a table: one with a decimal, or of percent, points or times."""
IN_TABLE = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")
ONE_THREAD = "OMP_NUM_THREADS=1 python"
TEXT = 30
"""A column with a cell of more characters is text, flush left."""


def record(name: str, lines: Sequence[Mapping[str, object]], decimals: int = 2, command: str = "") -> None:
    """Write ``NAME.csv`` and ``NAME.json``: the command, the commit and the date (UTC) of the lines.

    All lines have the same columns; what is not finite is left empty. Without a command, that which runs is
    named.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value, decimals) for key, value in line.items()} for line in lines)
    write_text(DATA / f"{name}.csv", text.getvalue())
    origin = {"command": command or _running(), "commit": checked_out(), "date": today()}
    write_text(DATA / f"{name}.json", json.dumps(origin, indent=2) + "\n")


def merge(name: str, lines: Sequence[Mapping[str, str]], command: str) -> None:
    """`record` a table with these lines in place of those that begin alike; the others stay."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        before = list(csv.DictReader(stream))
    record(name, list({next(iter(line.values())): line for line in [*before, *lines]}.values()), 2, command)


def show(tables: Mapping[str, Sequence[Mapping[str, object]]], write: bool) -> None:
    """Print tables by name, and `record` them where that is asked for."""
    for name, lines in tables.items():
        print(f"\n{name}", *lines, sep="\n")
        if write:
            record(name, lines)


def tell(figures: Iterable[tuple[str, str]], command: str, write: bool) -> None:
    """Print what a command of one thread has measured, and `merge` it into the figures of speed."""
    lines = []
    for what, figure in figures:
        print(f"{what}: {figure}", flush=True)
        by = {"command": f"`{ONE_THREAD} {command}`", "measured": f"{checked_out()}, {today()}"}
        lines.append({"what": what, "figure": figure, **by})
    if write:
        merge("speed-figures", lines, "each by its own command")


def rendered(page: str) -> str:
    """A page's text with the tables that its CSVs hold now."""
    return TABLE.sub(lambda found: f"{found[1]}\n{table(found[2])}\n{found[3]}", page)


def table(name: str) -> str:
    """The CSV as Markdown, and a line on where it comes from."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream))
    origin = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    columns = list(zip(header, *rows, strict=True))
    rule = ["---" if not i or max(map(len, cells)) > TEXT else "---:" for i, cells in enumerate(columns)]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (header, rule, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    note = f" {origin['note']}" if "note" in origin else ""
    command = origin["command"] if " by " in origin["command"] else f"`{origin['command']}`"
    return "\n".join([*lines, "", f"From {command}, commit {origin['commit']}, {origin['date']}.{note}", ""])


def origins(page: str) -> dict[str, dict[str, str]]:
    """What the JSON says of each table that a page shows or links, by the table's name."""
    names = dict.fromkeys(one or other for one, other in SHOWN.findall(page))
    return {name: json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")) for name in names}


def tables(page: str) -> str:
    """The rows of a page and the CSVs that it shows or links."""
    rows = [line for line in page.splitlines() if line.startswith("|")]
    texts = ((DATA / f"{name}.csv").read_text(encoding="utf-8") for name in origins(page))
    cells = (" ".join(row) for text in texts for row in csv.reader(text.splitlines()))
    return "\n".join([*rows, *cells])


def history() -> str:
    """The full names of the commits that lead to the one checked out, if all are here; or nothing."""
    return _git("rev-list", "HEAD") if _git("rev-parse", "--is-shallow-repository") == "false" else ""


def unknown_commits(text: str, history: str) -> list[str]:
    """The commits that a text names and a history lacks."""
    return [name for name in dict.fromkeys(COMMIT.findall(text)) if f"\n{name}" not in f"\n{history}"]


def unsupported_numbers(page: str) -> list[str]:
    """The numbers of a page's prose that are neither in one of its tables nor among its settings."""
    words = IN_TABLE.findall(" ".join([tables(page), *SETTINGS.findall(page)]))
    values = [scale * float(word.replace(",", "")) for word in words for scale in (1, 100)]
    missing = []
    for number in NUMBER.findall(NO_PROSE.sub(" ", page)):
        half = 0.5 * 10.0 ** -len(number.partition(".")[2]) + 1e-9
        if not any(abs(value - float(number.replace(",", ""))) <= half for value in values):
            missing.append(number)
    return missing


def problems(page: str, history: str) -> list[str]:
    """What is wrong on a page, a line each."""
    text = f"{page}\n{tables(page)}\n{origins(page)}"
    commits = unknown_commits(text, history) if history else []
    return [
        *(f"commit {name} is not in this history: make its table anew" for name in commits),
        *(
            f"{number} is in no table of the page, nor in <!-- settings: ... -->"
            for number in unsupported_numbers(page)
        ),
    ]


def today() -> str:
    """The day (UTC)."""
    return f"{datetime.now(timezone.utc):%Y-%m-%d}"


def checked_out() -> str:
    """The commit that is checked out, with "+" where code differs from it."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "*.py")
    return (_git("rev-parse", "--short=10", "HEAD") or "unknown") + ("+" if changed else "")


def _cell(value: object, decimals: int) -> object:
    if not isinstance(value, float):
        return value
    return f"{value:.{decimals}f}" if abs(value) < float("inf") else ""


def _running() -> str:
    """The command that runs, with folders of one's own by the name DIR."""
    words = ["DIR" if Path(word).is_absolute() else shlex.quote(word) for word in sys.argv[1:]]
    script = Path(sys.argv[0]).resolve()
    return " ".join([f"python benchmarks/{script.parent.name}/{script.name}", *words])


def _git(*words: str) -> str:
    """What git says in the checkout; nothing where there is none."""
    if not shutil.which("git"):
        return ""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Write every page again, or list the tables and what is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    check, known, wrong = parser.parse_args().check, history(), []
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if not check:
            write_text(page, rendered(text))
            continue
        for name, of in origins(text).items():
            print(f"{page.name}  {name}  {of['commit']}  {of['date']}  {of['command']}")
        wrong += [f"{page.name}: {each}" for each in problems(text, known)]
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
