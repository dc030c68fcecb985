"""The SYP oracle: indicators of single images, and the models that read them."""

from baselines.contract.estimator import Estimator
from oracle.ora_a import OraA
from oracle.ora_b import OraB, Syp
from oracle.ora_l import OraL

__all__ = ["ORACLES", "OraA", "OraB", "OraL", "Syp"]

ORACLES: dict[str, Estimator] = {"ora-a": OraA(), "ora-b": OraB(), "syp": Syp(), "ora-l": OraL()}
"""Oracles by name. They are prototypes: clone one before you fit it."""
