"""A submission from a method: valid, where it was asked for, and refused where it cannot be."""

import pytest
from sklearn.linear_model import Ridge

import unseen
from submission import UnusableInput, validate

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(contest):
    return unseen.open(contest.root)


def test_it_writes_a_valid_submission_where_it_is_asked_to(opened, tmp_path):
    file = unseen.predict(opened, Ridge(alpha=2), out=tmp_path / "mine.csv", note="first")
    assert file == tmp_path / "mine.csv"
    assert list(validate(opened, file)) == list(opened.ids("test"))
    assert (opened.root / "submissions/Ridge(alpha=2).csv").read_bytes() == file.read_bytes()
    assert (opened.root / "validation/Ridge(alpha=2).csv").is_file()
    assert unseen.predict(opened, {"two": Ridge(2)}) == opened.root / "submissions/two.csv"


def test_a_place_inside_the_competition_is_refused(opened, tmp_path):
    with pytest.raises(UnusableInput, match="choose a path outside it"):
        unseen.predict(opened, "constant", out=opened.public / "mine.csv")
    with pytest.raises(UnusableInput, match=r"must end in \.csv"):
        unseen.predict(opened, "constant", out=tmp_path / "mine.txt")
    with pytest.raises(UnusableInput, match="by one method, not by 2"):
        unseen.predict(opened, {"a": "constant", "b": "fd"})
