"""Frozen classifiers: architectures, their weights, and the network with its normalisation."""

from starter.classifiers.classifier import PRECISIONS, Classifier
from starter.classifiers.network import Network
from starter.classifiers.weights import ARCHITECTURES, load_classifier, read_classifier, save_classifier

__all__ = [
    "ARCHITECTURES",
    "PRECISIONS",
    "Classifier",
    "Network",
    "load_classifier",
    "read_classifier",
    "save_classifier",
]
