"""Building and predicting on a Dask cluster: the same files as on one machine, whatever dies meanwhile."""

import os
import shutil
import signal
import threading
import time

import pytest
from built import contents, spoil

from baselines import BASELINES, OOD_BASELINES
from baselines.run.predict import predict
from starter.contest import cluster as cluster_module
from starter.contest.build import build
from starter.contest.cluster import connected, see
from starter.observing.sets import REFERENCES
from submission import Competition, UnusableInput

pytest.importorskip("distributed", reason="needs the extra cluster")
pytestmark = pytest.mark.slow
SEED = 11


@pytest.fixture(scope="module")
def workers():
    """Two workers, which do not look every 10 ms at where they are."""
    from dask import config

    with config.set({"distributed.worker.profile.enabled": False}), connected("local:2") as found:
        yield found


def files_of(root):
    files = contents(root).items()
    return {name: data for name, data in files if not name.endswith(("cache.txt", "runs.csv"))}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []


def test_a_build_gives_the_same_files_though_a_worker_is_killed(workers, built, settings, tmp_path):
    root, logits = tmp_path / "contest", tmp_path / "contest/cache/logits"
    pids = workers.client.run(os.getpid)

    def kill():
        while not (logits.is_dir() and len(list(logits.iterdir())) > 5):
            time.sleep(0.005)
        os.kill(min(pids.values()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    build(root, settings(), SEED, cluster=workers)
    killer.join()
    assert_same(files_of(root), files_of(built.root.parent / "fresh"))


def test_a_set_whose_workers_die_is_told_in_a_line_and_the_others_are_kept(contest, monkeypatch):
    def deadly(work, action, classifier, part, name):
        if name == "val_0002":  # as if it needed more memory than there is
            os.kill(os.getpid(), signal.SIGKILL)
        see(work, action, classifier, part, name)

    shutil.rmtree(contest.root / "cache")
    monkeypatch.setattr(cluster_module, "see", deadly)
    monkeypatch.setitem(cluster_module.PATIENCE, "distributed.scheduler.allowed-failures", 0)
    line = r"\d+ of \d+ tasks failed, all others .* val_0002: each worker died that began it: see [^\n]+$"
    with connected("local:1") as cluster, pytest.raises(UnusableInput, match=line) as told:
        cluster.observe(contest, (), ("val",))
    lost = str(told.value).count("each worker died")
    kept = len(list((contest.root / "cache/logits").iterdir())) - len(REFERENCES)
    every = len(contest.sets("val"))
    assert 0 < every - lost <= kept < every  # a worker may die between its last set and the word of it


def test_mixes_give_the_same_files(workers, ood_built, mix_settings, tmp_path):
    root = tmp_path / "mixes"
    build(root, mix_settings(), SEED, cluster=workers)
    made, expected = files_of(root), files_of(ood_built.root.parent / "fresh")
    for files in (made, expected):  # which scores are kept depends on who measures the pools
        for name in [name for name in files if name.startswith("cache/scores")]:
            del files[name]
    assert_same(made, expected)
    predict(Competition.open(root), {"constant": OOD_BASELINES["constant"]}, cluster=workers)
    assert (root / "submissions/constant.csv").is_file()


def test_predict_gives_the_same_files(workers, contest, tmp_path):
    methods = {name: BASELINES[name] for name in ("atc", "fd")}
    alone = tmp_path / "alone/contest"
    shutil.copytree(contest.root, alone)
    predict(Competition.open(alone), methods)
    predict(contest, methods, cluster=workers)
    assert_same(files_of(contest.root), files_of(alone))


def test_what_a_classifier_must_learn_first_is_learnt_once(workers, contest):
    shutil.rmtree(contest.root / "cache")
    workers.observe(contest, ("rotation",), ("val",))
    assert len(list((contest.root / "cache/rotation_head").iterdir())) == 1
    rotations = list((contest.root / "cache/rotation").iterdir())
    assert len(rotations) == len(contest.sets("val")) + len(REFERENCES)


def test_a_poisoned_set_fails_alone_and_by_name(workers, contest):
    shutil.rmtree(contest.root / "cache")
    spoil(contest.public / "test/test_0002.npz")
    with pytest.raises(UnusableInput) as told:
        predict(contest, {"atc": BASELINES["atc"]}, cluster=workers)
    message = str(told.value)
    assert message.startswith("1 of 31 tasks failed, all others are done")
    assert "tiny test test_0002: " in message
    assert "\n" not in message
    assert len(list((contest.root / "cache/logits").iterdir())) == 31
    assert not (contest.root / "submissions").exists()


def test_workers_find_a_cache_that_is_elsewhere(workers, built, settings, tmp_path):
    root, place = tmp_path / "contest", tmp_path / "elsewhere"
    build(root, settings(), SEED, cluster=workers, cache=str(place))
    found, expected = files_of(root), files_of(built.root.parent / "fresh")
    cached = {name for name in expected if name.startswith("cache/")}
    assert_same(found, {name: expected[name] for name in expected.keys() - cached})
    assert_same(contents(place), {name.removeprefix("cache/"): expected[name] for name in cached})


@pytest.mark.parametrize("name", ["torch", "unseen's code", "engine", "sight of"])
def test_a_worker_that_would_compute_something_else_is_refused(workers, contest, monkeypatch, name):
    run = type(workers.client).run

    def elsewhere(client, *arguments, **options):
        found = run(client, *arguments, **options)
        return {
            address: {each: "0.1" if each.startswith(name) else value for each, value in values.items()}
            for address, values in found.items()
        }

    monkeypatch.setattr(type(workers.client), "run", elsewhere)
    with pytest.raises(UnusableInput, match=rf"worker \S+ has {name}.* 0\.1 in place of"):
        workers.observe(contest, (), ("val",))


@pytest.mark.parametrize(
    ("where", "word"),
    [
        *((where, "give a number") for where in ("local:0", "local:two")),
        *((where, "no Dask scheduler") for where in ("tcp://127.0.0.1:1", "nosuch://x:1")),
    ],
)
def test_an_address_that_leads_nowhere_is_told(where, word, monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT", 1)
    with pytest.raises(UnusableInput, match=f"cluster {where}: {word}"), connected(where):
        pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(UnusableInput, match=r'pip install -e "\.\[cluster\]"'), connected("local:2"):
        pass
