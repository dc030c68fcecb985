"""What the subjects of both tracks share: the observer of a competition's classifier, and its source."""

from dataclasses import replace

from starter.classifiers import read_classifier
from starter.observing.cache import cache_of
from starter.observing.observation import REFEREE_NEEDS, Source, unmet
from starter.observing.observe import Observer, observe, observe_all
from starter.sets.rendering import FromRecipe, Rendering
from starter.tracks.referees import open_referees
from starter.tracks.sets import PublicSets
from submission import Competition, UnusableInput


def open_observer(sets: PublicSets, name: str, needs: tuple[str, ...], device: str = "cpu") -> Observer:
    """Returns the classifier `name` with the rotation head, peers and referees that `needs` name."""
    if reason := unmet(needs, sets.competition):
        raise UnusableInput(f"{sets.competition.root}: {reason}")
    observer = _plain(sets.competition, name, device)
    if "rotation" in needs:
        observer = observer.with_rotation_head(sets.train_ref)
    if "peers" in needs:
        others = [other for other in sets.competition.classifiers if other != name]
        observer = replace(observer, peers=tuple(_plain(sets.competition, other, device) for other in others))
    if REFEREE_NEEDS & set(needs):
        observer = replace(observer, referees=open_referees(sets.competition, device))
    return observer


def _plain(competition: Competition, name: str, device: str) -> Observer:
    """Returns the classifier `name` with the competition's cache."""
    weights = competition.file(f"classifiers/{name}.safetensors")
    classifier = read_classifier(weights, name, competition.precision, device, competition.engine)
    if classifier.classes != competition.classes:
        raise UnusableInput(f"{weights} was made for other classes than the competition's")
    return Observer(classifier, cache_of(competition.root))


def see(rendering: Rendering, sets: PublicSets, observer: Observer, needs: tuple[str, ...]) -> None:
    """Put a set's observation into the cache; with the first classifier, what the referees see for all."""
    first = observer.classifier.name == sets.competition.classifiers[0]
    observe(rendering, observer, set(needs) - (set() if first else REFEREE_NEEDS))


def source_of(sets: PublicSets, observer: Observer, needs: tuple[str, ...]) -> Source:
    """Returns the labelled in-distribution reference."""
    whole = [replace(images, labels=None) for images in (sets.reference, sets.train_ref)]
    reference, train_ref = observe_all([FromRecipe.whole(each) for each in whole], observer, needs, False)
    classifier = observer.classifier
    assert sets.reference.labels is not None
    return Source(
        reference,
        sets.reference.labels,
        train_ref,
        classifier.head_weight,
        classifier.head_bias,
        replace(classifier),
    )
