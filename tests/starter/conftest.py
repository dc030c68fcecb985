"""The small taxonomy, which classes by meaning and the graph of predictions are tested on."""

import pytest
from taxonomy import write_taxonomy

from starter.data.wordnet.wordnet import load_wordnet


@pytest.fixture(scope="session")
def wordnet(tmp_path_factory):
    return load_wordnet(write_taxonomy(tmp_path_factory.mktemp("wordnet")))
