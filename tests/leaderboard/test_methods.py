from leaderboard.methods import read_methods
from submission import Competition, write_predictions


def test_valid_files_are_read_by_name_and_others_are_told(competition: Competition) -> None:
    folder = competition.root / "submissions"
    for name in ("fd", "atc"):
        write_predictions(folder / f"{name}.csv", dict.fromkeys(competition.ids("test"), 0.5))
    (folder / "empty.csv").touch()
    found = read_methods(competition)
    assert list(found.predictions) == ["atc", "fd"]
    assert list(found.predictions["fd"]) == list(competition.ids("test"))
    assert found.warnings == (
        f"left out {folder / 'empty.csv'}: the file is empty: expected the header 'id,prediction'",
    )


def test_no_folder_means_no_methods(competition: Competition) -> None:
    found = read_methods(competition)
    assert (found.predictions, found.warnings) == ({}, ())
