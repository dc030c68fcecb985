"""RankFeat: energy after the largest component of the feature maps is removed (Song et al., NeurIPS 2022).

"RankFeat: Rank-1 Feature Removal for Out-of-distribution Detection", arXiv 2209.08590; the removal is by
pytorch-ood.
"""

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from starter.models.classifiers import Classifier
from starter.observing.detectors.detector import Detector, Scores
from starter.observing.observation import Observation, Source
from submission.errors import UnusableInput

BATCH = 200


@dataclass
class RankFeat(Detector):
    """-log sum_c exp(f_c), with the mean f of two logits, each without the rank-1 part of one stage's maps.

    The feature maps of an image are a matrix X (channels, positions), and X - s u v' replaces it, with the
    largest singular value s and its vectors u and v. The two stages, changed one at a time, are the last ones
    with more than one position: with a single position the rank-1 part is all of X.
    """

    needs = ("features",)
    online = True

    def _fit(self, source: Source) -> None:
        assert source.classifier is not None
        self.classifier_ = source.classifier
        self.places_ = _places(source.classifier, source.train_ref)

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import EnergyBased  # slow to import

        batches = torch.from_numpy(observation.images()).movedim(-1, 1).split(BATCH)
        return torch.cat([EnergyBased.score(self._logits(images)) for images in batches])

    @torch.inference_mode()
    def _logits(self, images: Tensor) -> Tensor:
        """Returns the mean logits, float64 (n, k)."""
        network, inputs = self.classifier_.deployed, self.classifier_.normalised(images)
        assert network.head is not None
        found = []
        for module in self.places_:
            if module is None:
                pooled = without_rank_one(network.stages(inputs)[-1]).mean(dim=(2, 3))
                found.append(network.head(pooled))
            else:
                with module.register_forward_hook(lambda *call: without_rank_one(call[-1])):
                    found.append(network(inputs))
        return torch.stack(found).mean(dim=0).cpu().double()


def without_rank_one(maps: Tensor) -> Tensor:
    """Returns maps (n, c, h, w) minus the rank-1 part of each image's matrix (c, h w)."""
    from pytorch_ood.detector import RankFeat as Library  # slow to import

    removed = Library(None, head=lambda rest: rest, detector=lambda rest: rest)
    return removed.predict_feature_maps(maps.contiguous())


def _places(classifier: Classifier, observation: Observation) -> list[nn.Module | None]:
    """Returns the modules whose outputs are the changed maps; None for a last stage that is averaged."""
    network, calls = classifier.deployed, []

    def note(module: nn.Module, inputs: object, output: object) -> None:
        calls.append((module, output, getattr(output, "_version", None)))

    inputs = classifier.normalised(observation.images()[:1])
    with torch.no_grad():
        with ExitStack() as hooks:
            for module in network.modules():
                hooks.enter_context(module.register_forward_hook(note))
            stages = network.stages(inputs)
        averaged = torch.allclose(stages[-1].mean(dim=(2, 3)), network.features(inputs), rtol=1e-4)
    times = Counter(module for module, _, _ in calls)
    changed, places = [maps for maps in stages if maps.shape[2:].numel() > 1][-2:], list[nn.Module | None]()
    for maps in changed:
        given = [
            module
            for module, output, version in calls
            if output is maps and version == maps._version and times[module] == 1
        ]
        places += [None] if maps is stages[-1] and averaged else given[-1:]
    if not changed or len(places) < len(changed):
        raise UnusableInput(
            f"{classifier}: RankFeat changes maps of more than one position, each given by a module"
        )
    return places
