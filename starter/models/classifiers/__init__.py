"""Frozen classifiers: architectures, their weights, and the network with its normalisation."""

from starter.models.classifiers.classifier import Classifier as Classifier
from starter.models.classifiers.classifier import check_device as check_device
from starter.models.classifiers.networks import ARCHITECTURES as ARCHITECTURES
from starter.models.classifiers.networks import new_network as new_network
from starter.models.classifiers.networks.body import use_network as use_network
from starter.models.classifiers.networks.body import used_networks as used_networks
from starter.models.classifiers.networks.network import Network as Network
from starter.models.classifiers.specs import Spec as Spec
from starter.models.classifiers.weights import classifier_of as classifier_of
from starter.models.classifiers.weights import load_classifier as load_classifier
from starter.models.classifiers.weights import parts_of as parts_of
from starter.models.classifiers.weights import read_classifier as read_classifier
from starter.models.classifiers.weights import save_classifier as save_classifier
