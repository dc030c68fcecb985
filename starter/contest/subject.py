"""What is under evaluation in either track, and what looks at a competition's sets: classifiers, referees."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from starter.data.sets.rendering import Rendering
from starter.models.classifiers import Spec, read_classifier, used_networks
from starter.models.classifiers.engine import place
from starter.models.encoders import ImageEncoder
from starter.models.encoders.choose import check_known, load_image_encoder
from starter.models.encoders.two_tower import TwoTowerEncoder
from starter.observing.cache import cache_of
from starter.observing.observation import REFEREE_NEEDS, MetaTrain, Seen, Source, unmet
from starter.observing.observe import Observer, observe_all
from starter.observing.referee import Probe, Referee
from starter.observing.referee_fit import ENCODERS, referee_file
from starter.observing.sets import REFERENCES, PublicSets
from submission import Competition, UnusableInput

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Subject(ABC):
    """A classifier, or a metric of a detector on it; the subjects of one classifier share a `memory`."""

    name: str
    sets: PublicSets
    observer: Observer
    needs: tuple[str, ...]
    memory: dict[tuple[str, str], Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def open(cls, sets: PublicSets, classifier: str, needs: tuple[str, ...], device: str = "cpu") -> "Self":
        """Load a classifier."""
        return cls(classifier, sets, open_observer(sets, classifier, needs, device), needs)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that are observed."""
        return self.needs

    @property
    def source(self) -> Source:
        """The labelled in-distribution reference."""
        return self.plain_source

    @property
    def plain_source(self) -> Source:
        """The labelled in-distribution reference without the scores of a detector."""
        return self.kept(("source", ""), self._source)

    def _source(self) -> Source:
        whole = [self.sets.find(*each) for each in REFERENCES]
        reference, train_ref = observe_all(whole, self.observer, self.fields)
        classifier = self.observer.classifier
        head = classifier.head_weight, classifier.head_bias
        return Source(reference, self.sets.reference.truth, train_ref, *head, replace(classifier))

    def kept(self, key: tuple[str, str], make: Callable[[], Any]) -> Any:
        """Returns what `make` returned when it was asked first, from the memory."""
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    @abstractmethod
    def observe(self, renderings: Sequence[Rendering]) -> object:
        """Put everything that is read of the sets into the cache."""

    @abstractmethod
    def meta_train(self) -> MetaTrain:
        """Returns the meta-train sets with their targets."""

    @abstractmethod
    def observations(self, part: str) -> Sequence[Seen]:
        """Returns the observed sets of `part`, "val" or "test", without labels."""


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


def open_referees(competition: Competition, device: str = "cpu") -> tuple[Referee, ...]:
    """Returns the referees of a competition, in order; an encoder is loaded when it is first needed."""
    found = []
    where = place(competition.engine, competition.precision, device)
    for name in competition.referees:
        probe = Probe.load(competition.file(referee_file(name)), len(competition.classes))
        seen = referee_file(name, ".seen")
        packed = competition.file(seen) if seen in competition.files else None
        encoder = partial(_encoder, competition, name, probe, device)
        cache = cache_of(competition.root)
        found.append(Referee(name, probe, cache, encoder=encoder, packed=packed, place=where))
    return tuple(found)


def _encoder(competition: Competition, name: str, probe: Probe, device: str) -> ImageEncoder:
    """Returns a referee's encoder, loaded once per process: the competition's own file, or by its name."""
    # A competition cannot choose code or files that are read here: functions have to be named by the user.
    where = place(competition.engine, competition.precision, device)
    if (probe.encoder, where) in ENCODERS:
        return ENCODERS[probe.encoder, where]
    own_code = Spec.parse(probe.spec).own_code
    found: ImageEncoder
    if (file := referee_file(name, ".encoder")) in competition.files:
        found = TwoTowerEncoder.load(competition.file(file))
    elif own_code and own_code not in used_networks():
        raise UnusableInput(
            f"get the module of {own_code[:100]!r}, read it, and name it with --network module:function"
        )
    else:
        if not own_code:
            check_known(probe.spec)
        found = load_image_encoder(probe.spec, device, competition.precision, competition.engine)
    ENCODERS[found.name, where] = found
    return found
