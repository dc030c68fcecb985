from submission.errors import InvalidSubmission


def test_the_message_shows_the_first_twenty_problems_and_a_count() -> None:
    error = InvalidSubmission("mine.csv", [f"line {number}: wrong" for number in range(2, 27)])
    lines = str(error).split("\n")
    assert lines[0] == "mine.csv is not a valid submission: 25 problems"
    assert lines[1:21] == [f"  line {number}: wrong" for number in range(2, 22)]
    assert lines[21:] == ["  ... and 5 more"]
    assert len(error.problems) == 25
    assert "more" not in str(InvalidSubmission("mine.csv", ["wrong"] * 20))
