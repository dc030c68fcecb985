"""The cards make nothing up, and names in them are no mark-up."""

import json
from importlib.metadata import version

import pytest
from rules import with_fields

from submission.card import HERE, archive_readme, croissant, filled


def test_what_a_competition_lacks_is_not_made_up(competition):
    """The one of made-up numbers has no licences and no meta-train targets."""
    assert "\nglyphs: not stated\n" in filled(HERE / "card.md", competition)
    document = json.loads(croissant(competition))
    assert [record["name"] for record in document["recordSet"]] == ["val_targets", "sample_submission"]


def test_names_are_no_mark_up(competition):
    odd = with_fields(competition, name="<script>|x", source="```")
    lines = filled(HERE / "card.md", odd).splitlines()
    assert lines[0] == "# \\<script\\>\\|x"
    fences = [line for line in lines if line.startswith("```")]
    assert fences == [*["```text", "```"] * 2, "```text", "```: not stated", "```"]
    assert json.loads(croissant(odd))["name"] == "<script>|x"


def test_the_readme_has_the_rules_the_format_and_whom_to_ask(competition):
    sample = competition.file("sample_submission.csv").read_text().splitlines()
    asked = {**competition.settings, "contact": "ada@example.org"}
    limited = with_fields(competition, daily_limit=5, deadline=None, decimals=1, settings=asked)
    text = archive_readme(limited)
    assert f"id,prediction\n{sample[1]}\n" in text
    assert (
        "- The answer to a submission is its public score, rounded to 1 decimal.\n- Each team may make 5 submissions per day"
        in text
    )
    assert "There is no deadline." in text
    assert "\n## Changes since the competition was built\nNone.\n" in text
    assert f"Install version {version('unseen')} of the kit" in text
    assert text.endswith("## Contact\nada@example.org\n")
    assert "Ask the person who gave you this archive." in archive_readme(competition)


@pytest.mark.parametrize(
    ("made", "command"), [("competition", "my_method  "), ("ood_competition", "my_method --track ood  ")]
)
def test_the_readme_has_the_command_for_a_method_of_its_track(request, made, command):
    assert f"\nunseen new-method {command}" in archive_readme(request.getfixturevalue(made))
