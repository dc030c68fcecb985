import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.teams import check_team, plain, team_id, team_key
from submission import UnusableInput


@pytest.mark.parametrize(
    "name",
    [
        *(
            "A",
            "Équipe Bleue",
            "東京チーム",
            "فريق",
            "टीम एक",
            "ทีมที่หนึ่ง",
            "O'Neil & Sons (v2.0)",
            "a_b-c+d",
            "7",
        ),
        *(
            "AI研究室",
            "東京AIラボ",
            "딥러닝 Lab",
            "צוות AI",
            "Команда 7",
            "Кот с усами",
            "Team Жук",
            "Ελλάδα",
        ),
        *("Հայք", "Łódź", "β-VAE"),
    ],
)
def test_names_of_any_common_script_are_taken_as_they_are(name: str) -> None:
    assert check_team(name) == unicodedata.normalize("NFKC", name)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("  a   b ", "a b"),
        ("a\u00a0b", "a b"),
        ("Ｔｅａｍ", "Team"),
        ("ﬁne", "fine"),
        ("e\u0301", "é"),
        ("①", "1"),
    ],
)
def test_names_are_shown_in_one_form(name: str, shown: str) -> None:
    assert check_team(name) == shown


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "...",
        "\u02bb\u02bc",  # letters that are drawn like marks
        "a\n",
        "a\tb",
        "<b>",
        'a"b',
        "a/b",
        "=1",
        "@a",
        "a,b",
        "a\u200bb",  # zero-width space
        "a\u202eb",  # right-to-left override
        "a\u2066b",  # isolate
        "a\ufeff",
        "a\u3164",  # Hangul filler: a letter that is not drawn
        "a\ufe0f",  # variation selector: a mark that is not drawn
        "a\u034f",  # combining grapheme joiner
        "a\u0488",  # enclosing mark
        "a\x00",
        "a\x1b[2J",
        "a\ud800",
        "🚀",
        "a" + "\u0323\u0301\u0302\u0303\u0304",  # stacked accents
        "\u0301a",
        "a \u0301",
        "Ꭺ",  # Cherokee, not in common use
        "ꓢꓓ",  # Lisu, likewise
        "x" * 41,
        "\ufdfa" * 3,  # 18 characters each under NFKC
        "x" * 100_000,
    ],
)
def test_other_names_are_refused_with_a_short_reason(name: str) -> None:
    with pytest.raises(UnusableInput, match=r"^team name ") as caught:
        check_team(name)
    assert len(str(caught.value)) < 250
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Tеam", "'Tеam' mixes alphabets"),  # Cyrillic е
        ("Жукteam", "mixes alphabets"),
        ("Жук Теam", "'Теam' mixes alphabets"),
        ("T০p", "mixes alphabets"),  # a Bengali zero
        ("אAI", "mixes alphabets"),
    ],
)
def test_names_that_pass_for_latin_ones_are_refused(name: str, reason: str) -> None:
    with pytest.raises(UnusableInput, match=f"^team name .*{reason}") as caught:
        check_team(name)
    assert len(str(caught.value)) < 250


def test_forty_characters_fit() -> None:
    assert check_team("x" * 40) == "x" * 40


@settings(deadline=None)
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


@pytest.mark.parametrize(
    ("one", "other"), [("Team", "TEAM"), ("straße", "STRASSE"), ("Ｔeam", "team"), ("a  b", "A b")]
)
def test_spellings_of_one_name_are_one_team(one: str, other: str) -> None:
    assert team_key(one) == team_key(other)
    assert team_id(one) == team_id(other)


def test_ids_are_stable_and_tell_teams_apart() -> None:
    assert team_id("Team A") == "t35a6220627"
    assert len({team_id(f"team {number}") for number in range(1000)}) == 1000


@pytest.mark.parametrize(
    ("one", "other"),
    [("ora-a", "Ora A"), ("F.D.", "fd"), ("atc+lr", "ATC LR"), ("(x)", "Ｘ"), ("Ada", "Ada\u02bc")],
)
def test_names_that_differ_in_marks_or_case_read_alike(one: str, other: str) -> None:
    assert plain(one) == plain(other)
    assert plain(one) != plain(other + "2")
