"""Building a competition folder from settings: public parts, hidden solution, observations."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from starter.contest.audit import few
from starter.contest.cluster import Cluster
from starter.contest.plan import Labels, Look, Plan, Values, public_sets
from starter.contest.record import add_to_record, check_inputs, check_seed, claim
from starter.contest.referees import pack_referees, referee_needs, write_referees
from starter.contest.settings import Settings
from starter.contest.tracks import TRACKS
from starter.data.images.arrays import write_npz
from starter.data.images.imageset import ImageSet
from starter.data.sets.mix import FromPools, Mix
from starter.data.sets.rendering import FromRecipe
from starter.data.sources.sources import load_source
from starter.data.sources.splits import Splits
from starter.models.classifiers import (
    Classifier,
    Spec,
    check_device,
    load_classifier,
    read_classifier,
    save_classifier,
)
from starter.models.classifiers.engine import computing, float32_on, place
from starter.models.classifiers.networks.small import EMBEDDED, SMALL_MEAN, SMALL_STD, train_small
from starter.models.encoders import ImageEncoder
from starter.observing.cache import Cache, cache_of, place_cache
from starter.observing.observation import unmet
from starter.observing.observe import Observer
from starter.observing.referee import Referee
from starter.observing.referee_fit import fit_referees, load_referees, train_ref
from submission import Competition, make_id
from submission.arrays import FloatArray
from submission.card import LICENCES
from submission.files import csv_text, digest_of, sha256, sweep, write_text
from submission.predictions import write_predictions, write_sample
from submission.progress import progress
from submission.scoretable import NOISE, VALIDATION_GROUPS
from submission.solution import SolutionRow, solution_of, write_solution

Load = Callable[[str], Classifier]
"""Function that returns the classifier of a spec of the settings, loaded once."""
SMALL_SET = 100
"""Fewest images of a test set; with fewer, the sampling noise of its true value is more than 5 points."""
NAMED = {
    "cifar10": (
        "its authors state none (https://www.cs.toronto.edu/~kriz/cifar.html); cite A. Krizhevsky, Learning "
        "Multiple Layers of Features from Tiny Images, 2009"
    ),
    "glyphs": (
        "rendered from what these ship: scikit-learn (BSD-3-Clause; UCI's handwritten digits, CC BY 4.0; "
        "photographs china.jpg and flower.jpg, CC BY 2.0), Matplotlib (its licence; typefaces DejaVu, STIX "
        "and Computer Modern; sample data) and OpenCV (Apache-2.0; Hershey fonts)"
    ),
}
"""Licences of the named sources."""


def build(
    root: Path,
    settings: Settings,
    test_seed: int | None = None,
    device: str = "cpu",
    cluster: Cluster | None = None,
    cache: str = "",
    reads: Iterable[str] = (),
) -> Competition:
    """Build the competition of `settings` in `root`, or finish a build of the same settings.

    Every step writes whole files and every observation is cached, so an interrupted build continues where it
    stopped and ends in the same files. ``public/competition.json`` is written last and marks the end.

    `test_seed` is by default from the system's entropy; a `cluster` observes instead of this process; `cache`
    replaces ``root/cache``; the fields in `reads` are observed too, where the competition has them.
    """
    check_device(device)
    with claim(root, settings, test_seed, device) as (settled, seed):
        if cache:
            place_cache(root, cache)
        if not (root / "public/competition.json").is_file():
            return _built(root, settled, seed, device=device, cluster=cluster, reads=reads)
        competition = Competition.open(root)
        for file in competition.files:
            competition.file(file)
        solution_of(competition)
        return competition


def _built(
    root: Path, settings: Settings, test_seed: int, device: str, cluster: Cluster | None, reads: Iterable[str]
) -> Competition:
    """Build the claimed competition: read and plan everything, write it, and measure the targets."""
    track = TRACKS[settings.track]
    splits = _splits(settings)
    load = _loader(settings, splits, device, root / "public")
    settings = _in_one_engine(settings, splits, load, device)
    encoders = load_referees(settings.encoders, device, settings.precision, settings.engine)
    fit = lru_cache(
        lambda: fit_referees(
            *(encoders, splits, settings.seed, cache_of(root)),
            where=place(settings.engine, settings.precision, device),
            public=root / "public",
        )
    )
    plan = track.plan(settings, splits, test_seed, _look(settings, load, fit, cache_of(root)))
    check_inputs(root, {**_inputs(settings, splits, load, encoders), **plan.inputs})
    draft, labels = _drafted(root, settings, splits=splits, load=load, plan=plan, referees=fit())
    packed = referee_needs(fit())
    needs = tuple(
        field for field in dict.fromkeys((*track.needs, *reads, *packed)) if not unmet((field,), draft)
    )
    if cluster:
        cluster.observe(draft, needs, tuple(labels), device)
        sweep(root, age=0)
    targets, deviations = track.measure(draft, settings, plan=plan, labels=labels, needs=needs, device=device)
    files = _write_targets(draft, targets, deviations)
    files += pack_referees(draft, packed, device) if packed else []
    competition = draft.model_copy(
        update={
            **settings.rules(_write_private(draft, plan, targets, deviations, test_seed)),
            "files": draft.files | {file: sha256(draft.public / file) for file in files},
        }
    )
    competition.save()
    return competition


def _given(settings: Settings, load: Load) -> dict[str, Classifier]:
    """Returns the classifiers that the settings name, `small` left out, by name."""
    return {Spec.parse(spec).name: load(spec) for spec in settings.classifiers if spec != "small"}


def _drafted(
    root: Path, settings: Settings, splits: Splits, load: Load, plan: Plan, referees: Sequence[Referee]
) -> tuple[Competition, Labels]:
    """Write everything public that is planned; returns the competition without targets, and all labels."""
    public = root / "public"
    files = _write_public(public, settings, splits, load, plan)
    files += write_referees(public, referees)
    labels = _write_sets(public, plan)
    files += [f"{part}/{name}.npz" for part in ("val", "test") for name in labels[part]]
    given = _given(settings, load)
    facts: dict[str, Any] = {
        "referees": [
            {"name": each.name, "spec": each.probe.spec, "encoder": each.probe.encoder, **each.probe.figures}
            for each in referees
        ],
        "logits_alone": [name for name, each in given.items() if each.logits_alone],
        "networks": sorted(filter(None, {Spec.parse(each.arch).own_code for each in given.values()})),
        "float32": float32_on(load(settings.classifiers[0]).device),
    }
    draft = Competition.model_validate(
        {
            "root": root,
            "name": root.resolve().name,
            "track": settings.track,
            "visibility": "hidden" if settings.hidden else "practice",
            "source": Path(settings.source).absolute().name,
            "classes": splits.classes,
            "image_size": splits.image_size,
            "subjects": settings.subjects,
            "sizes": {part: {name: len(found) for name, found in of.items()} for part, of in labels.items()},
            "precision": settings.precision,
            "seed": settings.seed,
            "settings": {**settings.public(), **{name: fact for name, fact in facts.items() if fact}},
            "files": {file: sha256(public / file) for file in files},
            "engine": settings.engine,
        }
    )
    return draft, labels


def dry_run(settings: Settings, test_seed: int | None = None, device: str = "cpu") -> tuple[str, list[str]]:
    """Returns what a build costs, in a sentence, and warnings of accidents in its ranks; writes nothing."""
    check_seed(settings, test_seed)
    settings = settings.settled(device)
    splits = _splits(settings)
    load = _loader(settings, splits, device, Path())
    plan = TRACKS[settings.track].plan(settings, splits, 0, None)
    public = len(splits.meta_base) + len(splits.reference) + len(train_ref(splits, settings.seed))
    stored = sum(len(images) for images in plan.files.values() if isinstance(images, ImageSet))
    sets = [planned.recipe for of in plan.sets.values() for planned in of]
    sizes = {each.name: len(each) if isinstance(each, Mix) else each.ops[0][1]["n"] for each in sets}
    made = sum(sizes.values())
    observed = public + stored + made
    if not any(isinstance(each, FromPools) for each in plan.train):
        observed += sum(map(len, plan.train)) - len(splits.meta_base)
    seen = len(settings.classifiers) * 4 * len(splits.classes) * observed  # logits, float32
    for classifier in _given(settings, load).values():  # mean and covariance of each set
        d = classifier.head_weight.shape[1]
        seen += (len(plan.train) + len(sets)) * (8 * d + 4 * d * (d + 1) // 2)
    disk = 3 * splits.image_size[0] * splits.image_size[1] * (public + stored + made) + seen
    cost = (
        f"The build observes {observed:,} images per classifier and takes about {disk / 1e6:,.0f} MB of disk."
    )
    return cost, list(_accidents(settings, plan, sizes))


def _accidents(settings: Settings, plan: Plan, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield warnings of what is known before a build, of small sets and of few public ones."""
    keys = plan.keys("test")
    size = sum(sizes[name] for name, *_ in keys) / len(keys)
    if size < SMALL_SET:
        yield (
            f"test sets of {size:.0f} images: chance moves their true values by about "
            f"{50 / math.sqrt(size):.0f} points; build with larger sets (--set-size)"
        )
    public = _public(settings.track, plan, 0)
    private = {(group, family) for name, group, family in keys if name not in public}
    yield from few(len(public), len(private), settings.hidden)


def _splits(settings: Settings) -> Splits:
    """Returns the source's splits, from which sets are made."""
    splits = load_source(settings.source, settings.seed, settings.fit())
    return splits.as_in_datacv() if settings.whole_test else splits


def _loader(settings: Settings, splits: Splits, device: str, public: Path) -> Load:
    """Returns a function that loads a classifier once: `small`, perhaps trained, later, the others now."""
    how = settings.precision, device

    @lru_cache
    def load(spec: str) -> Classifier:
        if spec != "small":
            return load_classifier(spec, splits.classes, *how, splits.image_size, settings.engine)
        written = EMBEDDED if settings.source == "glyphs" else public / "classifiers/small.safetensors"
        if written.is_file():
            return read_classifier(written, "small", *how, settings.engine)
        network = train_small(splits.train, len(splits.classes), settings.seed)
        return Classifier(
            name="small",
            arch="small",
            network=network,
            classes=splits.classes,
            mean=SMALL_MEAN,
            std=SMALL_STD,
            precision=settings.precision,
            device=device,
            engine=settings.engine,
        )

    _given(settings, load)
    return load


def _in_one_engine(settings: Settings, splits: Splits, load: Load, device: str) -> Settings:
    """Returns the settings, with PyTorch and its precision if the engine leaves a classifier to it."""
    image = np.zeros((1, *splits.image_size, 3), np.uint8)
    given = _given(settings, load).values()
    if settings.engine == "torch" or not any(each.left_to_torch(image) for each in given):
        return settings
    engine, precision = computing("torch", settings.precision, device)
    return settings.model_copy(update={"engine": engine, "precision": precision})


def _look(settings: Settings, load: Load, fit: Callable[[], tuple[Referee, ...]], cache: Cache) -> Look:
    """Returns how the first referee, or else the first classifier, looks at images, for sub-populations."""

    def look(images: ImageSet) -> tuple[FloatArray, FloatArray]:
        whole = FromRecipe.whole(images)
        if referees := fit():
            seen = referees[0].compute(whole, ("referee",))
            rows, logits = seen["referee_features"]["features"], seen["referee"]["logits"]
        else:
            classifier = load(settings.classifiers[0])
            seen = Observer(classifier, cache).compute(whole, ("logits", "features"))
            logits = seen["logits"]["logits"]
            rows = logits if classifier.logits_alone else seen["features"]["features"]
        return rows, softmax(logits, axis=1).max(axis=1)

    return look


def _inputs(
    settings: Settings, splits: Splits, load: Load, encoders: Mapping[str, ImageEncoder]
) -> dict[str, str]:
    """Returns hashes of source and classifiers, and names that identify encoders, by option."""
    parts = (splits.train, splits.reference, splits.meta_base, splits.val_base, splits.test_base)
    source = digest_of(splits.classes, *(part.digest for part in parts))
    found = {f"--classifier {name}": classifier.digest for name, classifier in _given(settings, load).items()}
    found |= {f"--referee {spec}": encoder.name for spec, encoder in encoders.items()}
    return {f"--source {settings.source}": source, **found}


def licences(source: str, licence: str, paths: Sequence[str] = (), tested: bool = False) -> str:
    """Returns the text of ``public/LICENCES.txt``; sources of test sets would reveal the kind of shift."""
    stated = licence or "not stated"
    lines = {source: NAMED.get(source, stated)} | dict.fromkeys(paths, stated)
    text = "".join(f"{Path(path).absolute().name}: {terms}\n" for path, terms in lines.items())
    return text + (f"test sets from elsewhere: {stated}\n" if tested else "")


def _write_public(public: Path, settings: Settings, splits: Splits, load: Load, plan: Plan) -> list[str]:
    """Write the public files that are no sets, and return their paths."""
    bases = {
        "base.npz": splits.meta_base,
        "reference.npz": splits.reference,
        "train_ref.npz": train_ref(splits, settings.seed),
    }
    terms = licences(settings.source, settings.licence, settings.public_paths, bool(settings.test_from))
    groups = csv_text([("set", "group", "family"), *plan.keys("val")])
    found: dict[str, str | ImageSet] = {**bases, LICENCES: terms, **plan.files, VALIDATION_GROUPS: groups}
    for file, content in found.items():
        if isinstance(content, str):
            write_text(public / file, content)
        else:
            write_npz(public / file, content)
    for spec in settings.classifiers:
        save_classifier(load(spec), public / f"classifiers/{Spec.parse(spec).name}.safetensors")
    weights = [f"classifiers/{name}.safetensors" for name in settings.classifier_names]
    return [*found, *weights]


def _write_sets(public: Path, plan: Plan) -> Labels:
    """Write validation and test sets, the latter without labels, and return the labels of every set."""
    labels: Labels = {"train": {each.name: each.labels() for each in plan.train}}
    for part, planned in plan.sets.items():
        labels[part] = {}
        for each in progress(planned, title=f"render {part} sets", unit="sets"):
            rendered = plan.render(part, each)
            labels[part][rendered.name] = rendered.truth
            shown = replace(rendered, labels=None) if part == "test" else rendered
            write_npz(public / part / f"{rendered.name}.npz", shown)
    return labels


def _write_targets(draft: Competition, targets: Values, deviations: Values) -> list[str]:
    """Write the public targets and a sample submission, and return the files' paths."""
    files = ["sample_submission.csv", "train/targets.csv", "val/targets.csv"]
    write_sample(draft.public / files[0], draft.ids("test"))
    for part in ("train", "val"):
        write_predictions(draft.public / part / "targets.csv", targets[part], column="target")
    if deviations:
        files.append(NOISE["val"])
        write_predictions(draft.public / NOISE["val"], deviations["val"], column="deviation")
    return files


def _write_private(
    draft: Competition, plan: Plan, targets: Values, deviations: Values, test_seed: int
) -> int:
    """Write solution, deviations and the record of the test sets; returns the number of public sets."""
    public = _public(draft.track, plan, test_seed)
    rows = [
        SolutionRow(
            id=make_id(subject, name),
            prediction=targets["test"][make_id(subject, name)],
            usage="Public" if name in public else "Private",
            subject=subject,
            set=name,
            group=group,
        )
        for subject in draft.subjects
        for name, group, _ in plan.keys("test")
    ]
    write_solution(draft.private / "solution.csv", rows)
    if deviations:
        noise = draft.root / NOISE["test"]
        write_predictions(noise, deviations["test"], column="deviation")
        noise.chmod(0o600)
    add_to_record(draft.root, test=[planned.record() for planned in plan.sets["test"]])
    return len(public)


def _public(track: str, plan: Plan, test_seed: int) -> set[str]:
    """Returns the names of the public test sets."""
    by_group = TRACKS[track].by_group
    keys = [(name, group if by_group else "", family) for name, group, family in plan.keys("test")]
    return public_sets(keys, test_seed)
