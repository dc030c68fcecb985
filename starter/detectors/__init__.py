"""OOD detectors, one a file; `DETECTORS` names them all."""

from starter.detectors.detector import Detector
from starter.detectors.energy import Energy
from starter.detectors.maxlogit import MaxLogit
from starter.detectors.msp import MSP

__all__ = ["DETECTORS", "Detector"]

DETECTORS: dict[str, Detector] = {
    "msp": MSP(),
    "energy": Energy(),
    "mls": MaxLogit(),
}
"""Prototypes: `fit` returns a fitted copy."""
