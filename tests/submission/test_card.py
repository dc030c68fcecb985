"""The cards make nothing up, and names in them are no mark-up."""

import json
from dataclasses import replace

from submission import Competition
from submission.card import croissant, data_card


def test_what_a_competition_lacks_is_not_made_up(competition: Competition) -> None:
    """The one of made-up numbers has no licences and no meta-train targets."""
    assert "\nglyphs: not stated\n" in data_card(competition)
    document = json.loads(croissant(competition))
    assert [record["name"] for record in document["recordSet"]] == ["val_targets", "sample_submission"]


def test_names_are_no_mark_up(competition: Competition) -> None:
    odd = replace(competition, name="<script>|x", source="```")
    lines = data_card(odd).splitlines()
    assert lines[0] == "# \\<script\\>\\|x"
    assert [line for line in lines if line.startswith("```")] == ["```text", "```"] * 2 + [
        "```text",
        "```: not stated",
        "```",
    ]
    assert json.loads(croissant(odd))["name"] == "<script>|x"
