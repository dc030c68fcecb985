"""The files that `unseen predict` wrote."""

from predicted import as_predicted

from submission import Competition, write_predictions
from submission.files import sha256
from submission.predicted import predicted_files


def test_a_file_is_known_by_its_path_and_bytes(competition: Competition) -> None:
    assert predicted_files(competition) == {}
    path = competition.root / "submissions" / "a.csv"
    write_predictions(path, dict.fromkeys(competition.ids("test"), 0.5))
    as_predicted(competition)
    assert predicted_files(competition) == {"submissions/a.csv": {sha256(path)}}
