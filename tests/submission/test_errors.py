import pytest

from submission.errors import InvalidSubmission, UnusableInput


def test_the_message_shows_the_first_twenty_problems_and_a_count() -> None:
    error = InvalidSubmission("mine.csv", [f"line {number}: wrong" for number in range(2, 27)])
    lines = str(error).split("\n")
    assert lines[0] == "mine.csv is not a valid submission: 25 problems"
    assert lines[1:21] == [f"  line {number}: wrong" for number in range(2, 22)]
    assert lines[21:] == ["  ... and 5 more"]
    assert len(error.problems) == 25


def test_exactly_twenty_problems_need_no_count() -> None:
    assert "more" not in str(InvalidSubmission("mine.csv", ["wrong"] * 20))


@pytest.mark.parametrize("error", [UnusableInput("no"), InvalidSubmission("a.csv", ["no"])])
def test_both_are_value_errors_and_apart(error: ValueError) -> None:
    assert isinstance(error, ValueError)
    assert not isinstance(error, UnusableInput) or not isinstance(error, InvalidSubmission)
