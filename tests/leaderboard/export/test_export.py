"""What all exports share: where they may go, what they hold, and who can read it."""

import stat
import zipfile
from datetime import timedelta

import pytest
from exports import START
from rules import with_fields

from leaderboard.export import PLATFORMS, export
from submission import UnusableInput
from submission.pack import write_archive
from submission.scoring import validate

PLATFORM = pytest.mark.parametrize("platform", PLATFORMS)


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@PLATFORM
def test_the_same_competition_gives_the_same_bytes(competition, tmp_path, platform):
    first = contents(export(competition, platform, tmp_path / "a", START))
    assert "README.md" in first
    assert contents(export(competition, platform, tmp_path / "b", START)) == first
    assert contents(export(competition, platform, tmp_path / "a", START)) == first


@PLATFORM
def test_only_the_owner_can_read_an_export_whose_readme_says_so(competition, tmp_path, platform):
    out = export(competition, platform, tmp_path / "out", START)
    assert "holds hidden labels: keep it to yourself" in (out / "README.md").read_text()
    private = [out, *out.glob("host"), *out.glob("host/*.*"), *out.glob("*.zip")]
    assert {stat.S_IMODE(each.stat().st_mode) & 0o077 for each in private} == {0}


@PLATFORM
def test_a_participants_copy_cannot_be_exported(competition, tmp_path, platform):
    competition.private.rename(tmp_path / "away")
    with pytest.raises(UnusableInput, match="only the organizer"):
        export(competition, platform, tmp_path / "out", START)
    assert not (tmp_path / "out").exists()


@PLATFORM
def test_scores_that_the_kit_withholds_are_not_exported(competition, tmp_path, platform):
    few = with_fields(competition, visibility="hidden", total_limit=3)
    with pytest.raises(UnusableInput, match="fewer than 10 sets are public"):
        export(few, platform, tmp_path / "out", START)
    assert not (tmp_path / "out").exists()


def test_an_unknown_platform_and_a_place_in_the_competition_are_refused(competition, tmp_path):
    with pytest.raises(UnusableInput, match=r"'evalai' is unknown; there are codabench, datacv, kaggle"):
        export(competition, "evalai", tmp_path / "out", START)
    for place in ("public/out", "."):
        with pytest.raises(UnusableInput, match="is inside the competition"):
            export(competition, "kaggle", competition.root / place, START)


def test_what_lies_there_already_stays(competition, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for place in ("out", "file"):
        with pytest.raises(
            UnusableInput, match=f"{place} holds other files, or was made with other settings: name another"
        ):
            export(competition, "kaggle", tmp_path / place, START)
    export(competition, "kaggle", tmp_path / "kaggle", START)
    with pytest.raises(UnusableInput, match="holds other files"):
        export(competition, "datacv", tmp_path / "kaggle", START)


def test_a_start_after_the_deadline_is_refused(competition, tmp_path):
    closing = with_fields(competition, deadline=START + timedelta(days=3))
    closing.save()
    with pytest.raises(
        UnusableInput, match="start 2027-01-04 is not before the deadline, 2027-01-04 00:00:00"
    ):
        export(closing, "codabench", tmp_path / "out", START + timedelta(days=3))


def test_datacvs_sample_and_the_order_of_its_lines(competition, tmp_path):
    out = export(competition, "datacv", tmp_path / "out", START) / "participants"
    lines = (out / "order.csv").read_text().splitlines()
    assert lines == ["line,id", *(f"{n},{name}" for n, name in enumerate(competition.ids("test"), 1))]
    assert set(validate(competition, out / "answer.txt").values()) == {0.5}


def test_the_participants_archive_is_the_packs(competition, tmp_path):
    packed = write_archive(competition, tmp_path / "packed.zip").read_bytes()
    out = export(competition, "kaggle", tmp_path / "out", START)
    assert (out / "data/participants.zip").read_bytes() == packed


@PLATFORM
def test_texts_of_the_ood_track_name_its_methods_and_what_counts(ood_competition, tmp_path, platform):
    out = export(ood_competition, platform, tmp_path / "out", START)
    texts = [path.read_text() for path in out.rglob("*.md")]
    if platform == "codabench":
        with zipfile.ZipFile(out / "bundle.zip") as bundle:
            pages = [name for name in bundle.namelist() if name.startswith("pages/")]
            texts += [bundle.read(name).decode() for name in pages]
        assert any(f"predict {ood_competition.name} plugin-mpe" in text for text in texts)
    assert any("Only FPR@95 is scored" in text for text in texts)
    assert not any(" fd" in text for text in texts)
