"""The cards of what a build writes tell what is public, and Croissant's own library reads the tables in them."""

import json
import shutil
from pathlib import Path

import mlcroissant
import pytest
from built import linked

from submission import Competition
from submission.card import CARD, CROISSANT, cards, croissant
from submission.files import sha256
from submission.pack import write_archive
from submission.predictions import read_predictions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated"),  # in mlcroissant
]


@pytest.fixture(params=["built", "ood_built"])
def organizers(request: pytest.FixtureRequest, tmp_path: Path) -> Competition:
    """A copy of a really built competition of either track."""
    competition = request.getfixturevalue(request.param)
    return Competition.open(linked(competition.root, tmp_path / "contest"))


def test_mlcroissant_finds_no_error_and_reads_the_tables(
    organizers: Competition, caplog: pytest.LogCaptureFixture
) -> None:
    (organizers.root / CROISSANT).write_text(croissant(organizers), encoding="utf-8")
    dataset = mlcroissant.Dataset(str(organizers.root / CROISSANT))
    assert dataset.metadata.name == organizers.name
    assert not dataset.metadata.issues.errors
    assert "@context" not in caplog.text
    for part, record, column in (
        ("train", "train_targets", "target"),
        ("val", "val_targets", "target"),
        ("test", "sample_submission", "prediction"),
    ):
        read = {row[f"{record}/id"].decode(): row[f"{record}/{column}"] for row in dataset.records(record)}
        file = f"{part}/targets.csv" if column == "target" else "sample_submission.csv"
        assert read == pytest.approx(
            read_predictions(organizers.public / file, organizers.ids(part), column=column), abs=1e-7
        )


def test_public_files_are_named_with_hashes_and_nothing_is_told_of_private_ones(
    organizers: Competition,
) -> None:
    found = {file["contentUrl"]: file["sha256"] for file in json.loads(croissant(organizers))["distribution"]}
    public = [path for path in organizers.public.rglob("*") if path.is_file()]
    assert found == {str(path.relative_to(organizers.root)): sha256(path) for path in public}
    written = cards(organizers)
    shutil.rmtree(organizers.private)
    assert cards(Competition.open(organizers.root)) == written, "no label, no kind of a test set, no seed"


def test_the_archive_holds_them_and_they_read_it(organizers: Competition, tmp_path: Path) -> None:
    shutil.unpack_archive(write_archive(organizers, tmp_path / "packed.zip"), tmp_path / "unpacked")
    folder = tmp_path / "unpacked" / organizers.root.name
    assert (folder / CARD).read_text() == cards(organizers)[CARD]
    dataset = mlcroissant.Dataset(str(folder / CROISSANT))
    assert len(list(dataset.records("val_targets"))) == len(organizers.ids("val"))
