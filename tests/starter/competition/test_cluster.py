"""Building and predicting on a Dask cluster: the same files as on one machine, whatever dies meanwhile."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import flaky
import pytest
from bucket import BUCKET, s3_server
from built import spoil
from sklearn.base import clone

from baselines import BASELINES, OOD_BASELINES, Estimator
from baselines.run.predict import predict
from oracle import ORACLES
from oracle.ablate import METHODS, ablate
from starter.build.build import build
from starter.competition import cluster as cluster_module
from starter.competition.cluster import Cluster, connected
from starter.competition.worker import Work
from starter.observing import cache as cache_module
from starter.observing.cache import ELSEWHERE, at
from submission import Competition, UnusableInput

pytest.importorskip("distributed", reason="needs unseen[cluster]")
pytestmark = pytest.mark.slow
SEED = 11


@pytest.fixture(scope="module")
def workers():
    """Two workers, which do not look every 10 ms at where they are."""
    from dask import config

    with config.set({"distributed.worker.profile.enabled": False}), connected("local:2") as found:
        yield found


def files_of(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name not in (ELSEWHERE, "runs.csv")
    }


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


def test_mixes_give_the_same_files(workers, ood_built, mix_settings, tmp_path):
    root = tmp_path / "mixes"
    build(root, mix_settings(), SEED, cluster=workers)
    assert_same(files_of(root), files_of(ood_built.root.parent / "fresh"))
    predict(Competition.open(root), {"constant": OOD_BASELINES["constant"]}, progress=False, cluster=workers)
    assert (root / "submissions/constant.csv").is_file()


def limited(size):
    """Let this process write no file beyond a number of bytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def test_a_full_disk_on_one_worker_leaves_its_sets_to_the_other(workers, built, settings, tmp_path, capsys):
    workers.client.wait_for_workers(2)
    full = min(workers.client.nthreads())
    root = tmp_path / "contest"
    workers.client.run(limited, 1000, workers=[full])
    try:
        build(root, settings(), SEED, cluster=workers)
    finally:
        workers.client.run(limited, resource.RLIM_INFINITY, workers=[full])
    assert_same(files_of(root), files_of(built.root.parent / "fresh"))
    bars = re.findall(r"observe on local:2: +(\d+)%.*? (\d+)/(\d+)", capsys.readouterr().err)
    assert bars[-1] == ("100", "32", "32")
    assert all(int(done) <= 32 for _, done, _ in bars), "a task that is done again counts once"


def test_a_worker_that_fails_at_once_and_takes_over_what_others_are_to_do_spoils_nothing(workers, built):
    """It is idle, and Dask hands it what waits for the other, busy one: far more than a task's tries."""
    workers.client.wait_for_workers(2)
    full = min(workers.client.nthreads())
    jobs = [(full, number) for number in range(20)]
    done = dict(workers.each(built, (), "cpu", flaky.refused_by, jobs, "refuse"))
    assert {number: (each.value, each.problem) for number, each in done.items()} == {
        number: (number, "") for _, number in jobs
    }


def test_a_store_that_fails_one_request_in_ten_is_asked_again(
    workers, built, settings, tmp_path, monkeypatch
):
    monkeypatch.setattr(cache_module, "PAUSES", (0.01, 0.01, 0.01, 0.01))
    workers.client.run(flaky.register)
    flaky.register()
    root = tmp_path / "contest"
    build(root, settings(), SEED, cluster=workers, cache=f"flaky://{tmp_path}/store")
    assert flaky.Flaky.requests > 20
    assert sum(workers.client.run(lambda: flaky.Flaky.requests).values()) > 100
    expected = files_of(built.root.parent / "fresh")
    for name in (name for name in expected if name.startswith("cache/")):
        assert (tmp_path / "store" / name.removeprefix("cache/")).read_bytes() == expected[name]
    cached = {name for name in expected if name.startswith("cache/")}
    assert_same(files_of(root), {name: expected[name] for name in expected.keys() - cached})


def test_predict_gives_the_same_files(workers, contest, tmp_path):
    """The kit's methods are fitted by workers, one that takes long too."""
    methods = {name: BASELINES[name] for name in ("atc", "fd")}
    methods["ora-a"] = clone(ORACLES["ora-a"]).set_params(iterations=5, batch_size=50)
    alone = tmp_path / "alone/contest"
    shutil.copytree(contest.root, alone)
    predict(Competition.open(alone), methods, progress=False)
    predict(contest, methods, progress=False, cluster=workers)
    assert_same(files_of(contest.root), files_of(alone))
    prefixes = workers.client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.task_prefixes))
    assert "predict" in prefixes


def test_ones_own_method_is_fitted_here_and_an_error_there_is_told_as_here(workers, contest):
    class Mine(Estimator):
        def _predict(self, observation):
            return 0.5

    written = predict(contest, {"mine": Mine(), "atc": BASELINES["atc"]}, progress=False, cluster=workers)
    assert list(written) == ["mine", "atc"]
    spoilt = clone(ORACLES["ora-a"]).set_params(iterations=0)
    with pytest.raises(UnusableInput, match=r"^ora-a: iterations must be a whole number"):
        predict(contest, {"ora-a": spoilt}, progress=False, cluster=workers)


def test_ablate_gives_the_same_files(workers, contest, tmp_path):
    methods = {name: {**BASELINES, **ORACLES}[name] for name in METHODS}
    methods["ora-a"] = clone(methods["ora-a"]).set_params(iterations=5, batch_size=50)
    alone = tmp_path / "alone/contest"
    shutil.copytree(contest.root, alone)
    ablate(Competition.open(alone), "4", methods, progress=False)
    ablate(contest, "4", methods, progress=False, cluster=workers)
    assert len(list((contest.root / "ablation/runs").iterdir())) == 5
    assert_same(files_of(contest.root), files_of(alone))


def test_what_a_classifier_must_learn_first_is_learnt_once(workers, contest):
    shutil.rmtree(contest.root / "cache")
    workers.observe(contest, ("rotation",), ("val",))
    assert len(list((contest.root / "cache/rotation_head").iterdir())) == 1
    assert len(list((contest.root / "cache/rotation").iterdir())) == len(contest.sets("val"))
    prefixes = workers.client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.task_prefixes))
    assert {"prepare tiny", "observe tiny"} <= prefixes, (
        "the dashboard shows what is done by which classifier"
    )


def test_a_poisoned_set_fails_alone_and_by_name(workers, contest):
    shutil.rmtree(contest.root / "cache")
    spoil(contest.public / "test/test_0002.npz")
    with pytest.raises(UnusableInput) as told:
        predict(contest, {"atc": BASELINES["atc"]}, progress=False, cluster=workers)
    message = str(told.value)
    assert message.startswith("1 of 32 sets failed, all others are observed")
    assert "test_0002: " in message
    assert "\n" not in message
    assert len(list((contest.root / "cache/logits").iterdir())) == 31
    assert not (contest.root / "submissions").exists()


def test_an_s3_bucket_is_enough_for_the_workers(workers, built, settings, tmp_path):
    """They are sent to a folder that they cannot see, and read weights and images from the bucket."""
    with s3_server() as environment:
        workers.client.run(lambda: os.environ.update(environment))
        url = f"s3://{BUCKET}/contest"
        root = tmp_path / "contest"
        build(root, settings(), SEED, cluster=workers, cache=url)
        found, expected = files_of(root), files_of(built.root.parent / "fresh")
        cached = {name for name in expected if name.startswith("cache/")}
        assert_same(found, {name: expected[name] for name in expected.keys() - cached})
        for name in cached:
            assert (at(url).root / name.removeprefix("cache/")).read_bytes() == expected[name]
        predicted = predict(Competition.open(root), {"atc": BASELINES["atc"]}, progress=False)
        assert predicted["atc"]["test"].is_file()
        left = [name for name in at(url).root.files.find(url) if "/inputs/" not in name]
        assert all(name.endswith(".safetensors") for name in left)


def test_another_version_on_a_worker_is_told(workers, contest, monkeypatch):
    mine = {**cluster_module.versions(), "torch": "0.1"}
    monkeypatch.setattr(cluster_module, "versions", lambda: mine)
    with pytest.raises(
        UnusableInput, match=r"--cluster local:2: worker \S+ has torch .*, and this machine 0.1"
    ):
        predict(contest, {"atc": BASELINES["atc"]}, progress=False, cluster=workers)


def test_a_worker_that_was_started_with_another_library_is_told(contest, tmp_path):
    """Of two workers one finds another SciPy first: a process as `dask worker` starts it."""
    from distributed import Client, LocalCluster

    made = tmp_path / "scipy-0.0.1.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: scipy\nVersion: 0.0.1\n")
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=None
        ) as started,
        Client(started) as client,
    ):
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "distributed.cli.dask_worker", started.scheduler_address]
        other = subprocess.Popen(
            [*command, "--nthreads", "1", "--no-nanny"], env={**os.environ, "PYTHONPATH": path}
        )
        try:
            client.wait_for_workers(2, timeout=120)
            with pytest.raises(UnusableInput, match=r"worker \S+ has scipy 0\.0\.1, and this machine \d"):
                Cluster("two", client).observe(contest, (), ("val",))
        finally:
            other.terminate()
            other.wait()


def test_a_folder_that_workers_do_not_see_is_told(workers, contest, monkeypatch):
    def away(token, competition, *rest):
        return Work(token, replace(competition, root=competition.root / "elsewhere"), *rest)

    monkeypatch.setattr(cluster_module, "Work", away)
    with pytest.raises(UnusableInput, match=r"worker \S+ does not see .*elsewhere/cache: build in a folder"):
        predict(contest, {"atc": BASELINES["atc"]}, progress=False, cluster=workers)
    monkeypatch.setattr(Cluster, "_check", lambda self, work: None)  # as if the worker had come later
    with pytest.raises(
        UnusableInput, match=r"6 of 6 sets failed.*: val_0001: OSError: the worker does not see"
    ):
        workers.observe(contest, (), ("val",))


def test_a_worker_of_several_threads_is_refused_before_and_after_the_start(contest, monkeypatch):
    from distributed import Client, LocalCluster

    told = "has 2 threads, and what a process keeps is for one: start it with --nthreads 1"
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as wide,
        Client(wide) as client,
    ):
        cluster = Cluster("wide", client)
        with pytest.raises(UnusableInput, match=rf"--cluster wide: worker \S+ {told}"):
            cluster.observe(contest, (), ("val",))
        monkeypatch.setattr(Cluster, "_check", lambda self, work: None)  # as if the worker had come later
        with pytest.raises(UnusableInput, match=f"6 of 6 sets failed.*OSError: the worker {told}"):
            cluster.observe(contest, (), ("val",))


@pytest.mark.parametrize("where", ["local:0", "local:", "local:two", "local:-1"])
def test_a_number_of_processes_is_asked_for(where):
    with pytest.raises(UnusableInput, match=f"--cluster {where}: give a number"), connected(where):
        pass


@pytest.mark.parametrize("where", ["tcp://127.0.0.1:1", "nosuch://x:1"])
def test_an_address_without_a_scheduler_is_told(where, monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT", 1)
    with (
        pytest.raises(UnusableInput, match=f"--cluster {where}: no Dask scheduler answers"),
        connected(where),
    ):
        pass


def test_a_scheduler_without_workers_is_told(monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(cluster_module, "WORKERS", 0.2)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty:
        where = empty.scheduler_address
        with pytest.raises(UnusableInput, match="the scheduler has no worker; start some"), connected(where):
            pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(UnusableInput, match=r'pip install "unseen\[cluster\]"'), connected("local:2"):
        pass


def test_without_a_cluster_there_is_none():
    with connected(None) as none:
        assert none is None
