"""The work of a cluster's worker: one classifier observes one set, both given by their names.

A task is a few names; images and weights come from the competition's folder or, if its cache is elsewhere,
from copies in that cache. So a worker may die at any time: another worker can repeat its task.
"""

import ctypes
import platform
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from threadpoolctl import threadpool_limits

from starter.classifiers import use_network
from starter.classifiers.engine import arithmetic
from starter.competition.scorer import Scorer
from starter.competition.sets import PublicSets
from starter.competition.subjects import LOOKERS, SETS, Subject, open_subjects
from starter.competition.view import View
from starter.observing.cache import at, cache_of, choose_place
from starter.sets.rendering import Rendering
from submission import Competition, UnusableInput
from submission.files import digest_of, replacing, sha256

if TYPE_CHECKING:
    from distributed import Worker

LIBRARIES = (
    *("dask", "distributed", "numpy", "scipy", "opencv-python-headless", "numba", "torch", "torchvision"),
    *("timm", "scikit-learn", "lightgbm"),
)
"""Libraries of observations and methods, which need the same versions on all workers."""
PACKAGES = ("submission", "starter", "baselines", "oracle")
"""Packages of the kit that workers run."""
INPUTS = "inputs"
"""Name of the cache's folder with copies of public files for workers, by their SHA-256."""


@dataclass(frozen=True)
class Work:
    """Settings common to all tasks of one run.

    Attributes:
        token: Identifier of the run; the cache holds a file with this name during the run.
        competition: Competition with the absolute path of its folder.
        cache: Address of a cache outside of the folder, with copies of the public files; "" for none.
        needs: Names of the observed fields.
        device: Device that runs the classifiers.
        networks: Names (module:function) of the user's own networks.
        versions: Versions of all libraries and code that an observation depends on.
    """

    token: str
    competition: Competition = field(compare=False, repr=False)
    cache: str = field(compare=False)
    needs: tuple[str, ...] = field(compare=False)
    device: str = field(compare=False)
    networks: tuple[str, ...] = field(compare=False)
    versions: Mapping[str, str] = field(compare=False)


@dataclass(frozen=True)
class Done:
    """Result of a task.

    Attributes:
        value: Value returned by the task.
        problem: Description of the error; "" for none.
        worker: Address of the worker if its machine caused the error, so another worker may repeat the task.
    """

    value: Any = None
    problem: str = ""
    worker: str = ""


def run(task: Callable[..., Any], *arguments: object, work: Work) -> Done:
    """Run a task on this worker; errors are returned, never raised."""
    try:
        return Done(task(work, *arguments))
    except UnusableInput as error:
        return Done(problem=str(error))
    except Exception as error:
        found = _this_worker()
        told = " ".join(f"{type(error).__name__}: {error}".split())
        return Done(problem=told, worker=found.address if found else "this process")


def see(work: Work, action: str, classifier: str, part: str, name: str) -> None:
    """Run an action of `ACTIONS` on a set.

    Raises:
        UnusableInput: the set or the classifier cannot be used.
    """
    opened = _opened(work)
    try:
        ACTIONS[action](_classifier(work, classifier), opened.find(part, name))
    finally:
        opened.forget(part, name)


@lru_cache(maxsize=1)
def subjects(work: Work) -> Mapping[str, Subject]:
    """Returns the subjects of the work's competition by name; their sets have been observed."""
    return open_subjects(_opened(work).sets.competition, work.needs, work.device)


ACTIONS: dict[str, Callable[[View | Scorer, Rendering], object]] = {
    "prepare": lambda looker, rendering: None,
    "observe": lambda looker, rendering: looker.see(rendering),
    "score": lambda looker, rendering: looker.observe([rendering], progress=False),
}
"""Actions by name: "prepare" fits the rotation head of a classifier; "observe" puts the observation of a set
into the cache; "score" adds the scores of all detectors, and needs the observed source."""


def problem(work: Work, dask_worker: "Worker | None" = None) -> str:
    """Returns the reason why this worker cannot take part; "" if it can.

    Args:
        work: Settings of the run.
        dask_worker: This worker; Dask's `Client.run` sets it by this name.
    """
    if dask_worker and (threads := dask_worker.state.nthreads) > 1:
        return (
            f"has {threads} threads, and what a process keeps is for one: start it with --nthreads 1, and "
            f"--nworkers {threads} for as many processes"
        )
    asked = work.competition
    own = versions() | {"engine": arithmetic(asked.engine, asked.precision, work.device)}
    for name, here in work.versions.items():
        if own[name] != here:
            return f"has {name} {own[name]}, and this machine {here}: install the same on both"
    place = at(work.cache or str(work.competition.root / "cache")).root
    try:
        seen = (place / work.token).exists()
    except OSError as error:
        return f"cannot read the cache: {error}"
    if not seen:
        return f"does not see {place}: build in a folder that all machines share, or give --cache URL"
    return ""


@cache
def versions() -> dict[str, str]:
    """Returns the versions of the libraries and of the kit's code that an observation depends on."""
    packages = (Path(__file__).parents[2] / package for package in PACKAGES)
    files = sorted(path for package in packages for path in package.rglob("*.py"))
    code = digest_of(*map(sha256, files))
    libraries = {name: _version(name) for name in LIBRARIES}
    return {"Python": platform.python_version(), **libraries, "unseen's code": code[:12]}


def _version(library: str) -> str:
    """Returns a library's version without its build suffix; "none" if it is not installed."""
    try:
        return version(library).partition("+")[0]
    except PackageNotFoundError:
        return "none"


class Copied(Competition):
    """A competition in a separate folder; public files are copied there from the cache on demand."""

    def file(self, relative: str) -> Path:
        """See `Competition`. Raises UnusableInput if the cache has no complete copy."""
        path = self.public / relative
        if relative in self.files and not path.exists():
            copy = cache_of(self.root).root / INPUTS / self.files[relative]
            if not copy.exists():
                raise UnusableInput(f"public/{relative} was changed or is damaged, where the build runs")
            with replacing(path) as temporary:
                temporary.write_bytes(copy.read_bytes())
        return super().file(relative)


@dataclass(frozen=True)
class Opened:
    """A competition opened by a process: its sets, and the folder of copied files, if there is one."""

    sets: PublicSets
    folder: Path | None

    @classmethod
    def of(cls, work: Work) -> "Opened":
        """Open the competition, and set this process to one thread for each task.

        Raises:
            OSError: this worker cannot take part.
        """
        if reason := problem(work, _this_worker()):
            raise OSError(f"the worker {reason}")
        torch.set_num_threads(1)
        threadpool_limits(1)
        _keep_freed_memory()
        for spec in work.networks:
            use_network(spec)
        competition = work.competition
        if not work.cache:
            return cls(SETS[competition.track](competition), None)
        folder = Path(tempfile.mkdtemp(prefix="unseen-worker-"))
        choose_place(folder, work.cache)
        values = {each.name: getattr(competition, each.name) for each in fields(competition)}
        opened = cls(SETS[competition.track](Copied(**{**values, "root": folder})), folder)
        weakref.finalize(opened, shutil.rmtree, folder, ignore_errors=True)
        return opened

    def find(self, part: str, name: str) -> Rendering:
        """See `PublicSets`."""
        return self.sets.find(part, name)

    def forget(self, part: str, name: str) -> None:
        """Remove the copy of a set: all sets together may exceed the disk."""
        if self.folder:
            (self.folder / "public" / part / f"{name}.npz").unlink(missing_ok=True)


def _this_worker() -> "Worker | None":
    """Returns the worker that runs this task, if any does."""
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def _keep_freed_memory() -> None:
    """Have glibc keep freed memory (`mallopt(3)`: M_TRIM_THRESHOLD, M_MMAP_THRESHOLD); no-op without glibc.

    Dask starts workers with a threshold of 64 kB: they would return the memory of each forward pass and
    request it again page by page, which makes ResNet-56 half as slow again.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(-1, 1 << 30)
        mallopt(-3, 32 << 20)


_opened = lru_cache(maxsize=1)(Opened.of)


@lru_cache(maxsize=4)
def _classifier(work: Work, name: str) -> View | Scorer:
    """Returns a classifier, loaded once per process; the last few are kept."""
    sets = _opened(work).sets
    return LOOKERS[sets.competition.track](sets, name, work.needs, work.device)
