"""What a method may see of an unlabelled set, and how it is observed and cached."""

from starter.observing.observation import MetaTrain, Observation, Source

__all__ = ["MetaTrain", "Observation", "Source"]
