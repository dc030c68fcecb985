"""The README and docs/ as programs: their code blocks, run page by page, and the commands that they name.

A block in `sh` is run line by line, one in `python` as a whole; a `python` block that opens with ``# name.py``
is written to that file instead. What cannot run here says why, for the reader too: a comment that starts with
``Not run here:`` excuses its line or, alone at the head of a block, the block, as an HTML comment above it does;
so does ``UNSEEN_DATA=``, which names the real data.
"""

import os
import re
import runpy
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from command_line import COMMANDS, run

import unseen.cli

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "docs/reference/commands.md"
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").rglob("*.md")} - {GENERATED})]
EXCUSE = re.compile(r"#\s*Not run here: \S.{8,}|(^|\s)UNSEEN_DATA=")
SHELL = set("|&;<>$`*(){}'\"\\")
COMMAND = re.compile(r"\$? ?(unseen|python3?|pip) ")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line on which it starts, and the comment above it."""

    language: str
    text: str
    line: int
    above: str = ""

    def lines(self) -> list[str]:
        """The shell lines, those that go on after a backslash joined; no comments alone, no empty lines."""
        joined = re.sub(r"\\\n\s*", "", self.text).splitlines()
        return [line.strip() for line in joined if line.strip() and not line.lstrip().startswith("#")]

    @property
    def runs(self) -> bool:
        """Whether anything of it is run."""
        if self.excused or self.language not in ("sh", "bash", "python"):
            return False
        return self.language == "python" or not all(map(EXCUSE.search, self.lines()))

    @property
    def hides_commands(self) -> bool:
        """Whether it holds commands and is not marked as a shell's."""
        return self.language in ("", "text") and any(map(COMMAND.match, self.text.splitlines()))

    @property
    def excused(self) -> bool:
        """Whether its head says why it is not run here."""
        head = self.text.lstrip().splitlines()[:1]
        return bool(self.above or (head and head[0].startswith("#") and EXCUSE.search(head[0])))


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order; directives of the site are none."""
    text = page.read_text(encoding="utf-8")
    fence = r"^(?:<!-- Not run here: (\S[^\n]{8,}) -->\n)?```([^\n]*)\n(.*?)^```$"
    found = re.finditer(fence, text, re.MULTILINE | re.DOTALL)
    fenced = [
        Block(match[2], match[3], text.count("\n", 0, match.start(2)) + 1, match[1] or "") for match in found
    ]
    return [block for block in fenced if not block.language.startswith("{")]


def run_page(page: Path, folder: Path) -> str:
    """Run the blocks of a page in `folder`, the working folder; returns what plain commands of the kit print."""
    namespace: dict[str, object] = {"__name__": "page"}
    told = ""
    for block in blocks(page):
        if block.runs and block.language == "python":
            run_python(block, page, folder, namespace)
        elif block.runs:
            for line in block.lines():
                if not EXCUSE.search(line):
                    told += run_line(line, folder)
    return told


def run_line(line: str, folder: Path) -> str:
    """Run a shell line: plain ``unseen ...``, several after one another or with an ``|| echo``, and scripts of the
    page in this process, anything else in bash.
    """
    first, _, otherwise = line.partition(" || ")
    commands = [shlex.split(part, comments=True) for part in first.split(" && ")]
    if all(words[0] == "unseen" and not SHELL & set("".join(words)) for words in commands):
        done = [run(*words[1:], check=not otherwise) for words in commands]
        if otherwise:
            assert otherwise.startswith("echo "), line
            assert any(each.code for each in done), f"{line}: nothing fails"
        return "".join(each.text for each in done)
    if script := re.fullmatch(r"python (\w+\.py)", line):
        runpy.run_path(str(folder / script[1]), run_name="__main__")
        return ""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    script = f'unseen() {{ python -m unseen "$@"; }}\n{line}'
    done = subprocess.run(
        ["bash", "-ec", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return ""


def run_python(block: Block, page: Path, folder: Path, namespace: dict[str, object]) -> None:
    """Run a Python block after those before it, or write it to the file that it opens with."""
    if named := re.match(r"# (\w+\.py)\n", block.text):
        (folder / named[1]).write_text(block.text, encoding="utf-8")
        return
    padded = "\n" * block.line + block.text
    exec(compile(padded, str(page), "exec"), namespace)


def named_commands(page: Path) -> list[str]:
    """Every ``unseen ...`` and ``python benchmarks/...`` of a page, in blocks and in the text."""
    text = page.read_text(encoding="utf-8")
    spans = [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text)]
    lines = [line for block in blocks(page) if block.language in ("sh", "bash") for line in block.lines()]
    parts = [part.strip() for line in (*spans, *lines) for part in re.split(r"&&|;", line)]
    wanted = re.compile(r"(?:[A-Z_]+=\S+ )*(unseen [a-z].*|python benchmarks/.*)")
    return [match[1] for match in map(wanted.fullmatch, parts) if match]


def unknown(command: str) -> str:
    """What in a command line does not exist: "" where the command and all its options do."""
    words = command.partition(" #")[0].split()
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    if words[0] == "python":
        script = ROOT / words[1]
        if not script.is_file():
            return words[1]
        known = script.read_text(encoding="utf-8")
        return next((word for word in (words[1], *options) if Path(word).name not in known), "")
    name = " ".join(words[1 : 3 if words[1] in unseen.cli.GROUPS else 2])
    if name in unseen.cli.GROUPS:
        return ""
    if name not in COMMANDS:
        return name
    found = COMMANDS[name].load()
    taken = {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return next(iter(sorted(options - taken - {"--help"})), "")
