""""""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submission import Competition, InvalidSubmission, validate
from submission.ids import check_set_name, check_subject, foreign, make_id, split_id


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
        "this competition is of the accuracy track",
    )


def test_a_file_of_the_accuracy_track_is_told_in_the_other(ood_competition, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,prediction\nsmall/test_0001,0.5\n")
    for part in ("test", "val"):
        with pytest.raises(
            InvalidSubmission, match=r"problem\n  its ids are of the accuracy track \(small\), "
        ):
            validate(ood_competition, path, part)


def test_a_file_about_other_classifiers_is_of_another_competition(competition):
    told = "its ids are of another competition: they are about resnet56, and this one is about cnn, vit:b"
    assert (
        foreign(["resnet56/test_0001", "resnet56/test_0002"], competition.subjects, competition.track) == told
    )


def test_a_file_in_other_letters_is_not_of_the_other_track(ood_competition):
    ids, own = [name.upper() for name in ood_competition.ids("test")], ood_competition.subjects
    assert foreign(ids, own, "ood").startswith("its ids differ in capitals: they are about VIT:B:MSP:AUROC, ")


@pytest.mark.parametrize("ids", [[], ["", "x", "a b/c"], ["cnn/test_9", *OOD], ["vit:b/train_0001"]])
def test_a_file_that_names_one_of_its_subjects_or_none_is_not(competition, ids):
    assert foreign(ids, competition.subjects, competition.track) == ""


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


def test_ids_without_a_subject_are_told_how_they_are_written() -> None:
    told = foreign(["test_0001", "test_0002"], ["cnn"], "accuracy")
    assert told == "its ids, as 'test_0001', lack the subject (cnn): ids are <subject>/<set>"
    assert foreign(["x" * 500], ["cnn"], "accuracy") == foreign([""], ["cnn"], "accuracy") == ""
