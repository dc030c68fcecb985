"""The referees of a competition: probes from its public folder, and their encoders."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from starter.classifiers import Spec, used_networks
from starter.classifiers.specs import ZERO_SHOT
from starter.encoders import ImageEncoder
from starter.encoders.choose import load_image_encoder, of_encoders
from starter.encoders.two_tower import TwoTowerEncoder
from starter.observing.cache import cache_of
from starter.observing.referee import Probes, Referee
from submission import Competition, UnusableInput

_known: dict[tuple[str, str], ImageEncoder] = {}
"""Encoders loaded in this process, by name and device."""


def probes_file(name: str) -> str:
    """Returns the path of a referee's probes below ``public/``."""
    return f"referees/{name}.safetensors"


def encoder_file(name: str) -> str:
    """Returns the path of a referee's encoder below ``public/``, if the competition includes it."""
    return f"referees/{name}.encoder.safetensors"


def packed_file(name: str) -> str:
    """Returns the path of a referee's observations of the public sets, below ``public/``."""
    return f"referees/{name}.seen.safetensors"


def open_referees(competition: Competition, device: str = "cpu") -> tuple[Referee, ...]:
    """Returns the referees of a competition, in order; an encoder is loaded when it is first needed."""
    return tuple(_referee(competition, name, device) for name in competition.referees)


def _referee(competition: Competition, name: str, device: str) -> Referee:
    probes = Probes.load(competition.file(probes_file(name)), len(competition.classes))
    packed = competition.file(packed_file(name)) if packed_file(name) in competition.files else None
    encoder = _encoder_of(competition, name, probes, device)
    return Referee(name, probes, cache_of(competition.root), encoder, packed, device)


def know(encoder: ImageEncoder, device: str) -> None:
    """Register a loaded encoder for use in this process."""
    _known[encoder.name, device] = encoder


def _encoder_of(
    competition: Competition, name: str, probes: Probes, device: str
) -> Callable[[], ImageEncoder]:
    """Returns a function that loads the encoder: from the competition's own file, or else by its name."""
    if encoder_file(name) in competition.files:
        return cache(lambda: TwoTowerEncoder.load(competition.file(encoder_file(name))))
    return lambda: _found(probes, device, of_encoders(competition.precision))


def _found(probes: Probes, device: str, precision: str) -> ImageEncoder:
    """Returns the encoder of a referee, loaded once per process.

    A competition cannot choose code that runs here: functions have to be named by the user.
    """
    if (probes.encoder, device) in _known:
        return _known[probes.encoder, device]
    spec = probes.spec.removeprefix(ZERO_SHOT)
    own_code = Spec.parse(spec).own_code
    if own_code and own_code not in used_networks():
        raise UnusableInput(
            f"get the module of {own_code[:100]!r}, read it, and name it with --network module:function"
        )
    found = load_image_encoder(spec, Path(), device, precision)
    know(found, device)
    return found
