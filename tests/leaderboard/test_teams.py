import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.teams import check_team, team_id, team_key
from submission import UnusableInput

COMMON = (
    "Équipe Bleue",
    "東京チーム",
    "فريق",
    "टीम एक",
    "O'Neil & Sons (v2.0)",
    "AI研究室",
    "Команда 7",
    "β-VAE",
    "x" * 40,
)
MARKUP = (
    "",
    "   ",
    "...",
    "a\n",
    "<b>",
    'a"b',
    "a/b",
    "=1",
    "@a",
    "a,b",
    "a\x00",
    "a\x1b[2J",
    "a\ud800",
    "🚀",
)
NOT_DRAWN = (
    *("a\u200bb", "a\u202eb", "a\u2066b", "a\ufeff"),  # zero-width space, overrides, byte order mark
)
LONG = ("x" * 41, "\ufdfa" * 3, "x" * 100_000)  # the second has 18 characters each under NFKC


@pytest.mark.parametrize("name", COMMON)
def test_names_of_any_script_are_taken_as_they_are(name: str) -> None:
    assert check_team(name) == unicodedata.normalize("NFKC", name)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("  a   b ", "a b"), ("a\u00a0b", "a b"), ("Ｔｅａｍ", "Team"), ("ﬁne", "fine"), ("①", "1")],
)
def test_names_are_shown_in_one_form(name: str, shown: str) -> None:
    assert check_team(name) == shown


@pytest.mark.parametrize("name", [*MARKUP, *NOT_DRAWN, *LONG])
def test_other_names_are_refused_with_a_short_reason(name: str) -> None:
    with pytest.raises(UnusableInput, match="team name ") as caught:
        check_team(name)
    assert len(str(caught.value)) < 250
    assert str(caught.value).isprintable()


@given(st.text(min_size=1, max_size=45))
def test_a_name_that_is_shown_is_itself_a_name_of_the_same_team(name: str) -> None:
    try:
        shown = check_team(name)
    except UnusableInput:
        shown = check_team("fallback")
        name = shown
    assert check_team(shown) == shown
    assert team_key(shown) == team_key(name)
    assert 1 <= len(shown) <= 40
    assert shown.isprintable()


def test_ids_are_stable_and_tell_teams_apart() -> None:
    assert team_id("Team A") == "t35a6220627"
    assert len({team_id(f"team {number}") for number in range(1000)}) == 1000
    for one, other in (("Team", "TEAM"), ("straße", "STRASSE"), ("Ｔeam", "team"), ("a  b", "A b")):
        assert team_id(one) == team_id(other)
