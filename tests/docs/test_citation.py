"""CITATION.cff has what the format (1.2.0) asks for, and the papers that the kit implements."""

import datetime
import re

import yaml
from pages import ROOT

REQUIRED = {"cff-version", "message", "title", "authors"}
TYPES = {"article", "conference-paper"}


def test_the_citation_is_complete():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert found.keys() >= REQUIRED
    assert found["cff-version"] == "1.2.0"
    assert found["license"] in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert len(found["references"]) == 5
    for paper in found["references"]:
        assert paper["type"] in TYPES
        assert 2023 <= paper["year"] <= datetime.date.today().year
        assert all(author.keys() == {"family-names", "given-names"} for author in paper["authors"])
        assert re.fullmatch(r"10\.\d{4,9}/\S+", paper.get("doi", "10.1234/none"))
    assert len({paper["title"] for paper in found["references"]}) == 5
