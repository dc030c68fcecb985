"""The summaries of methods, which stand in the command line's list and in the docs."""

import re
from pathlib import Path

from baselines import BASELINES, OOD_BASELINES
from baselines.run.summaries import SUMMARIES
from oracle import ORACLES

HOW_TO = Path(__file__).parents[3] / "docs/how-to/methods.md"


def test_every_method_of_the_kit_has_a_summary_and_no_other():
    assert SUMMARIES.keys() == {*BASELINES, *ORACLES, *OOD_BASELINES}


def test_the_tables_of_the_docs_name_the_same_methods():
    cells = re.findall(r"^\| (`.+?) \|", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for cell in cells for name in re.findall("`(.+?)`", cell)}
    assert named == SUMMARIES.keys()


def test_a_summary_fits_on_a_line_of_a_terminal():
    assert {name: text for name, text in SUMMARIES.items() if len(text) > 110 or "\n" in text} == {}
