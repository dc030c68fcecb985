import pytest

from submission import Competition, InvalidSubmission, validate
from submission.foreign import foreign

OOD = [
    f"small:{detector}:{metric}/test_0001" for detector in ("msp", "odin") for metric in ("fpr95", "auroc")
]


def test_a_file_of_the_other_track_is_told_as_one(competition, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,prediction\n" + "".join(f"{name},0.5\n" for name in OOD))
    with pytest.raises(InvalidSubmission) as told:
        validate(competition, path)
    assert told.value.problems == (
        "its ids are of the ood track (small:msp:fpr95, small:msp:auroc, small:odin:fpr95, ...), "
        "this competition of the accuracy track",
    )


def test_a_file_of_the_accuracy_track_is_told_in_the_other(ood_built, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,prediction\nsmall/test_0001,0.5\n")
    for part in ("test", "val"):
        with pytest.raises(
            InvalidSubmission, match=r"problem\n  its ids are of the accuracy track \(small\), "
        ):
            validate(ood_built, path, part)


def test_a_file_about_other_classifiers_is_of_another_competition(competition):
    told = "its ids are of another competition: they are about resnet56, and this one is about cnn, vit:b"
    assert foreign(competition, ["resnet56/test_0001", "resnet56/test_0002"]) == told


@pytest.mark.parametrize("ids", [[], ["", "x", "a b/c"], ["cnn/test_9", *OOD], ["vit:b/train_0001"]])
def test_a_file_that_names_one_of_its_subjects_or_none_is_not(competition, ids):
    assert foreign(competition, ids) == ""


@pytest.mark.parametrize(
    "text", ["", "id,prediction\n", "name,value\nx/y,0.5\n", "id,prediction\n,\n1,2,3\n"]
)
def test_other_problems_are_told_as_before(competition, tmp_path, text):
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(InvalidSubmission) as told:
        validate(competition, tmp_path / "mine.csv")
    assert "its ids" not in str(told.value)


def test_without_validation_sets_a_file_is_still_told_what_it_lacks(fields, tmp_path):
    competition = Competition(**{**fields, "sizes": {**fields["sizes"], "val": {}}})
    for name, text in (("mine.csv", "id,prediction\n"), ("answer.txt", "0.5\n")):
        (tmp_path / name).write_text(text)
        with pytest.raises(InvalidSubmission, match=r"8 problems|1 lines, expected 8"):
            validate(competition, tmp_path / name)
