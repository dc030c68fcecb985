import pytest
from hypothesis import given
from hypothesis import strategies as st

from submission import InvalidSubmission
from submission.ids import check_set_name, make_id, split_id
from submission.scoring import validate


@given(
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", fullmatch=True),
)
def test_an_id_splits_into_what_it_was_made_of(subject, set_name):
    assert split_id(make_id(subject, set_name)) == (subject, set_name)


@pytest.mark.parametrize(
    ("check", "wrong", "names"),
    [
        (
            check_set_name,
            "cannot name a set",
            ["", ".a", "-a", "a/b", "a b", "a\n", "é", "１", "x" * 81, "a,b", "a:b"],
        ),
        (split_id, "is not an id", ["a", "a/", "/a", "a/b/c", "a/b:c"]),
    ],
)
def test_other_names_of_sets_and_ids_are_refused(check, wrong, names):
    for name in names:
        with pytest.raises(ValueError, match=wrong):
            check(name)


@pytest.mark.parametrize("ids", [["cnn/val_a", "cnn/val_b"], ["small:msp:fpr95/test_0001"]])
def test_a_file_of_another_part_track_or_competition_is_refused_in_one_line(competition, tmp_path, ids):
    path = tmp_path / "mine.csv"
    path.write_text("id,prediction\n" + "".join(f"{name},0.5\n" for name in ids))
    with pytest.raises(InvalidSubmission) as caught:
        validate(competition, path)
    (problem,) = caught.value.problems
    assert f"none of its ids belongs here: {str([*ids])[1:-1]}" in problem
    assert "`score --val` the validation sets', in validation/" in problem
    assert "cnn/test_0001" in problem
