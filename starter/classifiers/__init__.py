"""Frozen classifiers: architectures, their weights, and the network with its normalisation."""

from starter.classifiers.classifier import Classifier, check_device
from starter.classifiers.networks import ARCHITECTURES, new_network
from starter.classifiers.networks.body import use_network, used_networks
from starter.classifiers.networks.network import Network
from starter.classifiers.specs import Spec
from starter.classifiers.weights import (
    classifier_of,
    load_classifier,
    parts_of,
    read_classifier,
    save_classifier,
)

__all__ = [
    "ARCHITECTURES",
    "Classifier",
    "Network",
    "Spec",
    "check_device",
    "classifier_of",
    "load_classifier",
    "new_network",
    "parts_of",
    "read_classifier",
    "save_classifier",
    "use_network",
    "used_networks",
]
