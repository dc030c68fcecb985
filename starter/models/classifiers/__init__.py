"""Frozen classifiers: architectures, their weights, and the network with its normalisation."""

from starter.models.classifiers.classifier import Classifier, check_device
from starter.models.classifiers.networks import ARCHITECTURES, new_network
from starter.models.classifiers.networks.body import use_network, used_networks
from starter.models.classifiers.networks.network import Network
from starter.models.classifiers.specs import Spec
from starter.models.classifiers.weights import (
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
