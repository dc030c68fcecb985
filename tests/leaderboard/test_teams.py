import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.teams import check_team, plain, team_id, team_key
from submission import UnusableInput

COMMON = (
    *("Équipe Bleue", "東京チーム", "فريق", "टीम एक", "O'Neil & Sons (v2.0)"),
    *("AI研究室", "Команда 7", "x" * 40, "佐々木 AI チーム", "김 Team 3", "ㄅㄆ中 A"),
    *("تیم ۷", "Ọ̀ṣun", "हिंदी", "ทีมที่ดี", "Ɛdɔ", "Ελλάδα"),
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
MIXED = (
    "Аlice",
    "Αlice",
    "β-VAE",
    "東京Я",
    "김ひ",
    "team ١",
    "Ａда",
)  # the first letters are Cyrillic and Greek
SIGNS = ("ᴀʟɪᴄᴇ", "aǀb", "ᎪᏞᏟ", "ꓮ", "u\u0301\u0301\u0302\u0303\u0304\u0305", " \u0301a", "ᅡ")
IGNORABLE = (
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0x200B, 0x2010)),
    *(*range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0),
    *(*range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)),
)
"""All code points with Unicode's property Default_Ignorable_Code_Point."""
LONG = ("x" * 41, "\ufdfa" * 3, "x" * 100_000)  # the second has 18 characters each under NFKC


@pytest.mark.parametrize("name", COMMON)
def test_names_of_any_script_are_taken_as_they_are(name):
    assert check_team(name) == unicodedata.normalize("NFKC", name)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("  a   b ", "a b"), ("a\u00a0b", "a b"), ("Ｔｅａｍ", "Team"), ("ﬁne", "fine"), ("①", "1")],
)
def test_names_are_shown_in_one_form(name, shown):
    assert check_team(name) == shown


@pytest.mark.parametrize("name", [*MARKUP, *MIXED, *SIGNS, *LONG])
def test_other_names_are_refused_with_a_short_reason(name):
    with pytest.raises(UnusableInput, match="team name ") as caught:
        check_team(name)
    assert len(str(caught.value)) < 250
    assert str(caught.value).isprintable()


def test_no_name_holds_a_character_that_is_not_drawn():
    for point in IGNORABLE:
        for name in (f"A{chr(point)}b", f"ក{chr(point)}", f"가{chr(point)}"):
            with pytest.raises(UnusableInput, match="team name "):
                check_team(name)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("Сору", "Copy"), ("РОЕ", "poe"), ("Аӏісе", "Alice"), ("ΝΟΤΕ", "Note"), ("АНА", "ΑΗΑ")),
        *(("Al1ce", "Alice"), ("AIice", "alice"), ("B0B", "Bob"), ("Élan", "Elan"), ("Ɑce", "Ace")),
        *(("ロボ", "口ボ"), ("team ۱۰", "team 10"), ("Ցօսո", "Ցouո")),
    ],
)
def test_names_that_look_alike_read_alike(one, other):
    assert plain(one) == plain(other)


def test_names_of_one_script_that_differ_in_vowel_signs_or_voicing_are_two():
    for one, other in (("राम", "रम"), ("かき", "がき"), ("Нина", "Hnha"), ("ณา", "ณี")):
        assert plain(one) != plain(other)


@given(st.text(min_size=1, max_size=45))
def test_a_name_that_is_shown_is_itself_a_name_of_the_same_team(name):
    try:
        shown = check_team(name)
    except UnusableInput:
        shown = check_team("fallback")
        name = shown
    assert check_team(shown) == shown
    assert team_key(shown) == team_key(name)
    assert 1 <= len(shown) <= 40
    assert shown.isprintable()


def test_ids_are_stable_and_tell_teams_apart():
    assert team_id("Team A") == "t35a6220627"
    assert len({team_id(f"team {number}") for number in range(1000)}) == 1000
    for one, other in (("Team", "TEAM"), ("straße", "STRASSE"), ("Ｔeam", "team"), ("a  b", "A b")):
        assert team_id(one) == team_id(other)
