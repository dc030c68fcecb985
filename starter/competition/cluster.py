"""Observing on a Dask cluster, with a task for each set and classifier and workers that share the cache.

The cluster only fills the cache; later steps read it as on a single machine, so results are the same. Dask
sends pickled code and data between the machines of one owner, but no data from participants.
"""

import secrets
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from starter.classifiers import used_networks
from starter.classifiers.engine import arithmetic
from starter.competition.sets import REFERENCES
from starter.competition.subjects import SETS
from starter.competition.worker import INPUTS, Done, Work, problem, run, see, versions
from starter.observing.cache import Cache, cache_of
from submission import Competition, UnusableInput
from submission.files import sha256

if TYPE_CHECKING:
    from distributed import Client

CONNECT = 10
"""Seconds to wait for the scheduler's answer."""
WORKERS = 30
"""Seconds to wait for a worker."""
RETRIES = 3
"""Number of repetitions of a task that failed because of its machine, such as a disk or a network."""
DEATHS = 10
"""Number of workers of a local cluster that may die with a task before it is given up."""
RESTART = "10 minutes"
"""Time allowed for restarting a dead worker, enough on a busy machine; Dask's default is 15 s."""
BATCH = 1000
"""Number of tasks sent to the scheduler at a time."""
SHOWN = 20
"""Number of failed sets that a message names."""


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster.

    Attributes:
        name: Address of the cluster as given by the user.
        client: Connection to the scheduler.
    """

    name: str
    client: "Client"

    def observe(
        self,
        competition: Competition,
        needs: tuple[str, ...],
        parts: Sequence[str],
        device: str = "cpu",
        source: bool = False,
    ) -> None:
        """Put the observations of `parts` with the fields in `needs` into the competition's cache.

        Args:
            competition: Competition with its public files; it need not be finished.
            needs: Names of the fields.
            parts: Names of parts, from "train", "val" and "test".
            device: Device that runs the classifiers.
            source: True to observe the labelled source too; OOD detectors always need it.

        Raises:
            UnusableInput: a worker cannot take part, or some sets could not be observed; the message names
                them, and all others are done.
        """
        sets = SETS[competition.track](competition)
        with _shared(competition, needs, device) as work:
            self._check(work)
            if "rotation" in needs:
                self._see("prepare", work, REFERENCES[-1:])
            for action, found in sets.tasks(parts, source):
                self._see(action, work, found)
            cache_of(competition.root).look()

    def each(
        self,
        competition: Competition,
        needs: tuple[str, ...],
        device: str,
        task: Callable[..., Any],
        jobs: Sequence[tuple[Any, ...]],
        title: str,
    ) -> Iterator[tuple[int, Done]]:
        """Run a task for each job on sets that have been observed; yield index and result as they end.

        Args:
            competition: Competition of the jobs.
            needs: Names of the fields that methods need.
            device: Device that runs the classifiers.
            task: Function in a module of the workers; it is called with the work and a job.
            jobs: Arguments of the calls.
            title: Title of the progress bar.

        Raises:
            UnusableInput: a worker cannot take part, or the scheduler is not reachable.
        """
        with _shared(competition, needs, device) as work:
            self._check(work)
            keys = [(title, str(number), work.token) for number in range(len(jobs))]
            yield from self._run(task, work, jobs, keys, f"{title} on {self.name}", "fit")

    def _check(self, work: Work) -> None:
        """Refuse workers that cannot take part, before any task starts."""
        for address, found in self.client.run(problem, work, on_error="return").items():
            if isinstance(found, OSError):  # it has just died, which is no reason to stop
                continue
            if isinstance(found, Exception):
                found = f"cannot run unseen ({type(found).__name__}: {found}): install unseen[cluster] there"
            if found:
                raise UnusableInput(f"--cluster {self.name}: worker {address} {found}")

    def _see(self, action: str, work: Work, sets: Sequence[tuple[str, str]]) -> None:
        """Run one task for each classifier and set, and wait for all."""
        jobs = [(action, name, *pair) for name in work.competition.classifiers for pair in sets]
        keys = [(f"{action} {name}", f"{part}/{each}", work.token) for _, name, part, each in jobs]
        failed: dict[str, str] = {}
        for number, done in self._run(see, work, jobs, keys, f"{action} on {self.name}", "set"):
            if done.problem:
                failed.setdefault(jobs[number][-1], done.problem)
        if failed:
            raise UnusableInput(_failures(failed, len(sets)))

    def _run(
        self,
        task: Callable[..., Any],
        work: Work,
        jobs: Sequence[tuple[Any, ...]],
        keys: Sequence[tuple[str, str, str]],
        title: str,
        unit: str,
    ) -> Iterator[tuple[int, Done]]:
        """Yield index and result of each job; one that fails because of its machine is repeated on another.

        The progress bar counts the jobs that have ended finally.
        """
        from distributed import as_completed

        shared = self.client.submit(replace, work, key=f"competition-{work.token}")
        common: dict[str, Any] = {"work": shared, "retries": RETRIES}
        given = zip(*jobs, strict=True)
        futures = self.client.map(run, [task] * len(jobs), *given, key=[*keys], batch_size=BATCH, **common)
        numbers = {future.key: number for number, future in enumerate(futures)}
        sent: dict[int, list[str]] = {}
        tries, faults = Counter[int](), Counter[str]()
        running = as_completed(futures, with_results=True, raise_errors=False)
        with tqdm(total=len(jobs), desc=title, unit=unit) as bar:
            for future, result in running:
                number, done = numbers[future.key], _done(future.status, result)
                # An idle worker may take over what was sent to another: its fault says nothing of that one.
                tries[number] += number not in sent or done.worker in sent[number]
                if done.worker and tries[number] <= RETRIES:
                    faults[done.worker] += 1
                    sent[number] = _least(list(self.client.nthreads()), faults)
                    again = self.client.submit(
                        run,
                        *(task, *jobs[number]),
                        key=(*keys[number], sum(faults.values())),
                        workers=sent[number],
                        allow_other_workers=True,
                        **common,
                    )
                    numbers[again.key] = number
                    running.add(again)
                    continue
                bar.update()
                yield number, done


@contextmanager
def connected(where: str | None) -> Iterator[Cluster | None]:
    """Yield the cluster at `where`: a scheduler's address, or "local:N" for N processes here; None for None.

    Raises:
        UnusableInput: Dask is not installed, `where` is neither of these, the scheduler does not answer, or
            it has no worker.
    """
    if where is None:
        yield None
        return
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise UnusableInput('--cluster needs Dask: pip install "unseen[cluster]"') from error
    with _local(where) if where.startswith("local:") else _remote(where) as client:
        print(f"Dask's dashboard: {client.dashboard_link}", file=sys.stderr)
        yield Cluster(where, client)


@contextmanager
def _local(where: str) -> Iterator["Client"]:
    """Yield local worker processes with one thread each; TLS keeps other users of this machine out."""
    import dask
    from distributed import Client, LocalCluster

    count = where.removeprefix("local:")
    if not count.isdecimal() or not 1 <= int(count) <= 1024:
        raise UnusableInput(f"--cluster {where}: give a number of processes, such as local:2")
    patience = {
        "distributed.scheduler.allowed-failures": DEATHS,
        "distributed.deploy.lost-worker-timeout": RESTART,
    }
    with (
        tempfile.TemporaryDirectory(prefix="unseen-dask-") as folder,
        dask.config.set(patience),
        LocalCluster(
            n_workers=int(count),
            threads_per_worker=1,
            security=True,
            dashboard_address="127.0.0.1:0",
            local_directory=folder,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def _remote(where: str) -> Iterator["Client"]:
    from distributed import Client
    from distributed import TimeoutError as NoneInTime
    from distributed.versions import VersionMismatchWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)  # the workers' are checked when work begins
        try:
            client = Client(where, timeout=CONNECT)
        except (OSError, ValueError, TypeError) as error:
            raise UnusableInput(
                f"--cluster {where}: no Dask scheduler answers there ({error}): give its address, such as "
                "tcp://10.0.0.1:8786, or local:N for N processes here"
            ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKERS)
        except NoneInTime:
            raise UnusableInput(
                f"--cluster {where}: the scheduler has no worker; start some with: dask worker {where} "
                "--nthreads 1"
            ) from None
        yield client


@contextmanager
def _shared(competition: Competition, needs: tuple[str, ...], device: str) -> Iterator[Work]:
    """Yield the work after copying everything that workers read to the cache."""
    root = competition.root.absolute()
    cache, token = cache_of(root), secrets.token_hex(8)
    elsewhere = cache.root != root / "cache"
    if elsewhere:
        _copy(competition, cache)
    at_workers = str(cache.root) if elsewhere else ""
    cache.put(token, b"")
    try:
        shared = replace(competition, root=root)
        own = versions() | {"engine": arithmetic(competition.engine, competition.precision, device)}
        yield Work(token, shared, at_workers, needs, device, used_networks(), own)
    finally:
        (cache.root / token).unlink(missing_ok=True)


def _copy(competition: Competition, cache: Cache) -> None:
    """Copy the public files to the cache, each once; files that were changed are not copied."""
    inputs = cache.root / INPUTS
    cache.look()
    left = {file: digest for file, digest in competition.files.items() if not (inputs / digest).exists()}
    for file, digest in tqdm(left.items(), desc="copy files", unit="file", disable=None if left else True):
        path = competition.public / file
        if path.is_file() and sha256(path) == digest:
            cache.put(f"{INPUTS}/{digest}", path.read_bytes())


def _done(status: str, result: Any) -> Done:
    """Returns the result of a task, including one that was killed or cancelled."""
    if status == "finished":
        found: Done = result
        return found
    if status != "error":
        raise UnusableInput("the Dask scheduler is gone; the same command goes on where it stopped")
    error = result[1] if isinstance(result, tuple) else result
    return Done(problem=" ".join(f"{type(error).__name__}: {error}".split()))


def _least(workers: Sequence[str], faults: Mapping[str, int]) -> list[str]:
    """Returns the workers with the fewest faults.

    >>> _least(["a", "b", "c"], {"b": 2})
    ['a', 'c']
    """
    fewest = min((faults.get(worker, 0) for worker in workers), default=0)
    return [worker for worker in workers if faults.get(worker, 0) == fewest]


def _failures(failed: dict[str, str], count: int) -> str:
    """Returns one line with the failed sets and the reasons."""
    shown = [f"{name}: {reason}" for name, reason in sorted(failed.items())[:SHOWN]]
    more = [f"and {len(failed) - SHOWN} more"] if len(failed) > SHOWN else []
    return (
        f"{len(failed)} of {count} sets failed, all others are observed (once these are mended the same "
        f"command goes on): {'; '.join([*shown, *more])}"
    )
