"""Networks with weights that no one trained, for comparing two forms of one network."""

import pytest
import torch
from torch import nn


@pytest.fixture(scope="session")
def shaken():
    """Build a network for ten classes whose batch normalisations all do something."""

    def build(network_class):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = network_class(10).eval().requires_grad_(False)
            for module in network.modules():
                if isinstance(module, nn.BatchNorm2d):
                    nn.init.normal_(module.running_mean, 0, 0.1)
                    nn.init.uniform_(module.running_var, 0.5, 1.5)
                    nn.init.uniform_(module.weight, 0.5, 1.5)
                    nn.init.normal_(module.bias, 0, 0.1)
        return network

    return build
