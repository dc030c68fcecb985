"""The SYP oracle: per-image indicators and the networks that read them; `ORACLES` names them all."""

from baselines.estimator import Estimator
from oracle.ora_a import OraA

__all__ = ["ORACLES", "OraA"]

ORACLES: dict[str, Estimator] = {"ora-a": OraA()}
"""Prototypes: clone one before fitting it."""
