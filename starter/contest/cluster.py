"""Observing on a Dask cluster, with a task for each set and classifier and workers that share the cache.

The cluster only fills the cache; later steps read it as on a single machine. A task is a few names; images
and weights come from the competition's folder. So a worker may die at any time: another one repeats its task.
"""

import ctypes
import platform
import secrets
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from threadpoolctl import threadpool_limits

from starter.contest.subject import Subject, open_observer
from starter.contest.tracks import TRACKS, sets_of
from starter.models.classifiers import use_network, used_networks
from starter.models.classifiers.engine import arithmetic
from starter.observing.cache import cache_of
from starter.observing.observe import observe_all
from starter.observing.sets import REFERENCES, PublicSets
from submission import Competition, UnusableInput
from submission.files import digest_of, sha256
from submission.progress import progress

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

CONNECT = 10
"""Seconds to wait for the scheduler's answer."""
WORKERS = 30
"""Seconds to wait for a worker."""
RETRIES = 3
"""Number of repetitions of a task that failed."""
PATIENCE = {
    "distributed.scheduler.allowed-failures": 10,  # workers that may die with a task
    "distributed.deploy.lost-worker-timeout": "10 minutes",  # to restart one on a busy machine
}
SHOWN = 20
"""Number of failed tasks that a message names."""
LIBRARIES = (
    *("dask", "distributed", "numpy", "scipy", "opencv-python-headless", "numba", "torch", "torchvision"),
    *("timm", "scikit-learn"),
)
"""Libraries of observations, which need the same versions on all workers."""


@dataclass(frozen=True)
class Work:
    """Settings common to all tasks of one run, during which the cache holds a file named as its token."""

    token: str
    competition: Competition = field(compare=False, repr=False)
    needs: tuple[str, ...] = field(compare=False)
    device: str = field(compare=False)
    networks: tuple[str, ...] = field(compare=False)


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster: its address as given by the user, and the connection to its scheduler."""

    name: str
    client: "Client"

    def observe(
        self, competition: Competition, needs: tuple[str, ...], parts: Sequence[str], device: str = "cpu"
    ) -> None:
        """Put observations of `parts`, and of the references, into the competition's cache."""
        with self._shared(competition, needs, device) as work:
            if "rotation" in needs:  # its head is fitted once, here
                for name in competition.classifiers:
                    open_observer(PublicSets(competition), name, ("rotation",), device)
            found = [pair for part in parts for pair in sets_of(competition).observed(part)]
            for action, sets in (("observe", REFERENCES), ("score", [*found, *REFERENCES[:1]])):
                jobs = [(action, name, *pair) for name in competition.classifiers for pair in sets]
                self._run(work, jobs, action)

    def _run(self, work: Work, jobs: Sequence[tuple[str, ...]], title: str) -> None:
        """Have workers `see` each job, then raise if some failed; Dask repeats these."""
        from distributed import as_completed

        shared = self.client.submit(replace, work, key=f"competition-{work.token}")
        futures = self.client.map(
            see,
            [shared] * len(jobs),
            *zip(*jobs, strict=True),
            key=[(f"{title} {job[1]}", str(number), work.token) for number, job in enumerate(jobs)],
            retries=RETRIES,
            batch_size=1000,
        )
        numbers = {future.key: number for number, future in enumerate(futures)}
        failed = {}
        for future in progress(as_completed(futures), f"{title} on {self.name}", len(jobs), unit="tasks"):
            number = numbers[future.key]
            if future.status == "error":
                failed[number] = _reason(future.exception())
            elif future.status != "finished":
                raise UnusableInput("the Dask scheduler is gone; the same command goes on where it stopped")
        if failed:
            named = [f"{' '.join(jobs[each])}: {failed[each]}" for each in sorted(failed)]
            raise UnusableInput(
                f"{len(failed)} of {len(jobs)} tasks failed, all others are done (once these are mended the "
                f"same command goes on): {'; '.join(named[:SHOWN])}"
            )

    @contextmanager
    def _shared(self, competition: Competition, needs: tuple[str, ...], device: str) -> Iterator[Work]:
        """Yield the work while the cache holds a file that is named as its token."""
        shared = competition.model_copy(update={"root": competition.root.absolute()})
        cache, token = cache_of(shared.root), secrets.token_hex(8)
        work = Work(token=token, competition=shared, needs=needs, device=device, networks=used_networks())
        cache.write(token, b"")
        try:
            self._check(work)
            yield work
        finally:
            (cache.root / token).unlink()

    def _check(self, work: Work) -> None:
        """Refuse workers that would compute other observations than this machine, or lose them."""
        own = {**environment(work), "--nthreads": "1"}
        threads = self.client.nthreads()
        for address, found in self.client.run(environment, work, on_error="return").items():
            if isinstance(found, OSError):  # it has just died, which is no reason to stop
                continue
            if isinstance(found, Exception):
                problem = f"cannot run unseen ({_reason(found)}): install its extra cluster there"
            else:
                found["--nthreads"] = str(threads.get(address, 1))
                differ = [name for name in own if own[name] != found[name]]
                problem = "; ".join(f"has {name} {found[name]} in place of {own[name]}" for name in differ)
            if problem:
                raise UnusableInput(f"--cluster {self.name}: worker {address} {problem}")


@contextmanager
def connected(where: str | None) -> Iterator[Cluster | None]:
    """Yield the cluster at a scheduler's address, or of "local:N" for N processes here; None for None."""
    if where is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise UnusableInput('--cluster needs Dask: pip install -e ".[cluster]"') from error
    with ExitStack() as stack:
        place = stack.enter_context(_local(where)) if where.startswith("local:") else where
        try:
            client = stack.enter_context(Client(place, timeout=CONNECT))
            client.wait_for_workers(1, timeout=WORKERS)
        except (OSError, ValueError, TypeError) as error:  # Dask's TimeoutError is an OSError
            raise UnusableInput(
                f"--cluster {where}: no Dask scheduler with workers answers there ({error}): give its "
                "address, such as tcp://10.0.0.1:8786, or local:N for N processes here"
            ) from error
        print(f"Dask's dashboard: {client.dashboard_link}", file=sys.stderr)
        yield Cluster(where, client)


@contextmanager
def _local(where: str) -> Iterator["LocalCluster"]:
    """Yield local worker processes with one thread each; TLS keeps other users of this machine out."""
    import dask
    from distributed import LocalCluster

    count = where.removeprefix("local:")
    if not count.isdecimal() or not 1 <= int(count) <= 1024:
        raise UnusableInput(f"--cluster {where}: give a number of processes, such as local:2")
    with (
        tempfile.TemporaryDirectory(prefix="unseen-dask-") as folder,
        dask.config.set(PATIENCE),
        LocalCluster(
            n_workers=int(count),
            threads_per_worker=1,
            security=True,
            dashboard_address="127.0.0.1:0",
            local_directory=folder,
        ) as cluster,
    ):
        yield cluster


def _reason(error: BaseException) -> str:
    """Returns one line on an error of a task."""
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):  # whose own text speaks of Dask's logs
        return "each worker died that began it: see whether it has memory enough"
    text = str(error) if isinstance(error, UnusableInput) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())


# What workers run


def environment(work: Work) -> dict[str, str]:
    """Returns what an observation of this process depends on, by name, and whether it sees the cache."""
    asked = work.competition
    cache = cache_of(asked.root)
    return {
        "Python": platform.python_version(),
        **{name: _version(name) for name in LIBRARIES},
        "unseen's code": _code(),
        "engine": arithmetic(asked.engine, asked.precision, work.device),
        f"sight of {cache.root}:": str((cache.root / work.token).exists()),
    }


def _version(library: str) -> str:
    """Returns a library's version without its build suffix; "none" if it is not installed."""
    try:
        return version(library).partition("+")[0]
    except PackageNotFoundError:
        return "none"


@lru_cache
def _code() -> str:
    """Returns a hash of the code of the packages that workers run."""
    found = [
        path
        for name in ("submission", "starter")
        for path in (Path(__file__).parents[2] / name).rglob("*.py")
    ]
    return digest_of(*map(sha256, sorted(found)))[:12]


def use_one_thread() -> None:
    """Let PyTorch, BLAS and OpenMP compute in one thread; over small arrays several wait for each other."""
    torch.set_num_threads(1)
    threadpool_limits(1)


@lru_cache(maxsize=1)
def _opened(work: Work) -> PublicSets:
    """Returns the sets of the work's competition, with one thread for each task of this process."""
    use_one_thread()
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        # Dask's workers return the memory of each forward pass, which makes ResNet-56 half as slow again.
        mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD
        mallopt(-3, 32 << 20)  # M_MMAP_THRESHOLD
    for spec in work.networks:
        use_network(spec)
    return sets_of(work.competition)


@lru_cache(maxsize=4)
def _classifier(work: Work, name: str) -> Subject:
    """Returns a classifier, loaded once per process; the last few are kept."""
    sets = _opened(work)
    return TRACKS[sets.competition.track].subject.open(sets, name, work.needs, work.device)


def see(work: Work, action: str, classifier: str, part: str, name: str) -> None:
    """Observe a set or, once the references are observed, also score it by the detectors."""
    sets = _opened(work)
    subject = _classifier(work, classifier)
    rendering = sets.find(part, name)
    if action == "score":
        subject.observe([rendering])
    else:
        observe_all([rendering], subject.observer, subject.fields)
