"""What a worker does, without a cluster: a task finds all that it needs by names, or tells what is wrong."""

import shutil
from dataclasses import replace

import pytest
from built import spoil

from starter.competition.accuracy import ClassifierSubject
from starter.competition.mixes import MixSets
from starter.competition.scorer import Scorer
from starter.competition.sets import REFERENCES, PublicSets
from starter.competition.worker import INPUTS, Done, Work, problem, run, see, versions
from starter.observing.cache import at, keep_elsewhere
from submission import UnusableInput

pytest.importorskip("distributed", reason="needs unseen[cluster]")


def work(competition, token="here", cache="", needs=("moments", "image_stats")):
    at(cache or str(competition.root / "cache")).put(token, b"")
    return Work(token, competition, cache, needs, "cpu", (), versions())


def entries(cache):
    return {path.relative_to(cache).as_posix(): path.read_bytes() for path in cache.rglob("*.safetensors")}


@pytest.fixture
def bare(built, contest):
    """A copy of the built competition without its cache, and what the build put there."""
    found = entries(built.root.parent / "fresh/cache")
    shutil.rmtree(contest.root / "cache")
    return contest, found


def test_a_task_makes_the_entries_that_a_single_machine_makes(bare):
    contest, expected = bare
    asked = work(contest)
    sets = [(part, name) for part in ("train", "val", "test") for name in contest.sets(part)]
    for part, name in (*sets, *REFERENCES):
        assert run(see, "observe", "tiny", part, name, work=asked) == Done()
    assert entries(contest.root / "cache") == expected


def test_with_the_cache_elsewhere_public_files_are_read_from_copies(bare, tmp_path):
    contest, _ = bare
    cache = at(str(tmp_path / "elsewhere"))
    for file in contest.files:
        if file != "val/val_0002.npz":
            cache.put(f"{INPUTS}/{contest.files[file]}", (contest.public / file).read_bytes())
    unseen = replace(contest, root=tmp_path / "not seen by the worker")
    asked = work(unseen, "copies", cache=str(cache.root))
    assert run(see, "observe", "tiny", "train", "train_0001", work=asked) == Done()
    assert run(see, "observe", "tiny", "val", "val_0001", work=asked) == Done()
    assert (
        "public/val/val_0002.npz was changed or is damaged"
        in run(see, "observe", "tiny", "val", "val_0002", work=asked).problem
    )
    assert len(list((tmp_path / "elsewhere/logits").iterdir())) == 2
    assert not unseen.root.exists()


def test_a_broken_file_is_told_and_nothing_else_is_read(bare):
    contest, _ = bare
    spoil(contest.public / "test/test_0002.npz")
    asked = work(contest, "broken")
    assert (
        "test_0002.npz was changed or is damaged"
        in run(see, "observe", "tiny", "test", "test_0002", work=asked).problem
    )
    assert run(see, "observe", "tiny", "test", "test_0001", work=asked) == Done()


def test_a_detector_that_runs_the_network_scores_as_on_a_single_machine(ood_contest):
    draft = replace(ood_contest, subjects=("tiny:odin:auroc",))
    asked = work(draft, "odin", needs=("features",))
    assert run(see, "observe", "tiny", "source", "reference", work=asked) == Done()
    assert run(see, "observe", "tiny", "source", "train_ref", work=asked) == Done()
    assert run(see, "score", "tiny", "test", "test_0001", work=asked) == Done()
    scores = ood_contest.root / "cache/scores"
    path = max(scores.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    made = path.read_bytes()
    path.unlink()
    view = Scorer.open(MixSets(draft), "tiny", ("odin",), ("features",))
    view.observe([view.view.sets.find("test", "test_0001")], progress=False)
    assert path.read_bytes() == made


@pytest.mark.parametrize("name", versions())
def test_another_version_is_a_problem(contest, name):
    asked = work(contest)
    asked = replace(asked, versions={**asked.versions, name: "0.1"})
    assert problem(asked) == (
        f"has {name} {versions()[name]}, and this machine 0.1: install the same on both"
    )


def test_a_folder_that_is_not_seen_is_a_problem(contest, tmp_path):
    asked = work(contest)
    assert problem(asked) == ""
    away = replace(asked, competition=replace(contest, root=tmp_path / "away"))
    assert problem(away).startswith(f"does not see {tmp_path / 'away/cache'}: build in a folder")
    done = run(see, "observe", "tiny", "val", "val_0001", work=replace(away, token="another"))
    assert done.problem.startswith("OSError: the worker does not see")
    assert done.worker == "this process", "it is this machine's fault: another may do the task"


def test_a_cache_elsewhere_is_kept_and_used(bare, tmp_path):
    contest, expected = bare
    keep_elsewhere(contest.root, str(tmp_path / "elsewhere"))
    subject = ClassifierSubject.open(PublicSets(contest), "tiny", ("moments", "image_stats"))
    subject.observations("val", progress=False)
    found = entries(tmp_path / "elsewhere")
    assert found.items() <= expected.items()
    assert len(found) == 3 * len(contest.sets("val"))
    assert not (contest.root / "cache").exists()


def test_a_cache_that_cannot_be_written_is_refused(contest, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnusableInput, match=r"--cache .*file/x cannot be used"):
        keep_elsewhere(contest.root, str(tmp_path / "file/x"))
    with pytest.raises(UnusableInput, match="s4://x is no address"):
        keep_elsewhere(contest.root, "s4://x")
