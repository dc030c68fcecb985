import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submission.ids import check_set_name, check_subject, make_id, split_id


@settings(deadline=None)
@given(
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", fullmatch=True),
)
def test_an_id_splits_into_what_it_was_made_of(subject: str, set_name: str) -> None:
    assert split_id(make_id(subject, set_name)) == (subject, set_name)


@pytest.mark.parametrize(
    "name", ["", ".a", "-a", "a/b", "a b", "a\n", "é", "１", "x" * 81, "a,b", "=1", None, 3]
)
def test_other_names_are_refused(name: str) -> None:
    allowed = r"use 1 to 80 ASCII letters, digits, '\.', '_'.* and '-', a letter or digit first"
    with pytest.raises(ValueError, match=f"cannot name a subject: {allowed}"):
        check_subject(name)
    with pytest.raises(ValueError, match=f"cannot name a set: {allowed}"):
        check_set_name(name)


def test_a_colon_is_for_subjects_only() -> None:
    assert check_subject("resnet56:msp") == "resnet56:msp"
    with pytest.raises(ValueError, match="cannot name a set"):
        check_set_name("a:b")


@pytest.mark.parametrize("name", ["a", "a/", "/a", "a/b/c", "a/b:c"])
def test_what_is_no_id_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"cannot name|is not an id of the form <subject>/<set>"):
        split_id(name)
