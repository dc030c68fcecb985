"""The tables of docs/results: what a benchmark found goes into a CSV, and from there into its page.

    python benchmarks/results/pages.py

writes every page of docs/results again. A table stands between two lines, ``<!-- table: NAME -->`` and
``<!-- end -->``, and is docs/results/data/NAME.csv; below it stands what docs/results/data/NAME.json says of
it: command, commit, date and perhaps a note. The text around it is written by hand. A test compares pages and
CSVs. A benchmark calls `record` or `merge`, most of them where --write is given.
"""

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from submission.files import write_text

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "results"
DATA = PAGES / "data"
TABLE = re.compile(r"(<!-- table: ([a-z0-9-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
TEXT = 30
"""A column with a cell of more characters is text, flush left."""


def record(
    name: str, lines: Sequence[Mapping[str, object]], decimals: int = 2, command: str = "", commit: str = ""
) -> None:
    """Write ``NAME.csv`` and ``NAME.json``: the command, the commit and the date (UTC) of the lines.

    Args:
        name: of the table.
        lines: a mapping from column to value each, at least one, all with the same columns.
        decimals: of floats; what is not finite is left empty.
        command, commit: that the lines come from; by default those that run.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value, decimals) for key, value in line.items()} for line in lines)
    write_text(DATA / f"{name}.csv", text.getvalue())
    origin = {"command": command or _running(), "commit": commit or checked_out(), "date": today()}
    write_text(DATA / f"{name}.json", json.dumps(origin, indent=2) + "\n")


def record_markdown(name: str, text: str) -> None:
    """`record` the first table in a text, as a benchmark prints it."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    header, _, *rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in lines]
    record(name, [dict(zip(header, row, strict=True)) for row in rows])


def merge(name: str, lines: Sequence[Mapping[str, str]], command: str) -> None:
    """`record` a table with these lines in place of those that begin alike; the others stay."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        before = list(csv.DictReader(stream))
    record(name, list({next(iter(line.values())): line for line in [*before, *lines]}.values()), 2, command)


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
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Write every page again."""
    for page in sorted(PAGES.glob("*.md")):
        write_text(page, rendered(page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
