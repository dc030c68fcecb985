"""OODL: a one-class SVM on an early layer (Abdelzad et al. 2019; Recalcati et al., DSAA 2023).

"Detecting Out-of-Distribution Inputs in Deep Neural Networks Using an Early-Layer Output", arXiv 1910.10307.
"""

from dataclasses import dataclass

import torch
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.pipeline import make_pipeline
from torch.nn.functional import adaptive_avg_pool2d

from starter.observing.detectors.detector import Detector, Scores
from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray

BATCH = 500
GRID = 4
"""Number of rows, and of columns, of the grid over whose cells the feature maps are averaged."""
COMPONENTS = 64
KERNELS = 500
"""Number of components of Nystroem's approximation."""


@dataclass
class OODL(Detector):
    """Signed distance outside the boundary of a one-class SVM around the training images, in feature space.

    The feature maps of one stage are averaged over a 4 x 4 grid and reduced to 64 whitened principal
    components. The kernel is Gaussian (RBF), with Nystroem's approximation. Far from all training images the
    kernel vanishes, so such images have the same score. At most `nu` of the training images are outside.
    """

    stage: int = 0
    nu: float = 0.01

    online = True

    def _fit(self, source: Source) -> None:
        self.classifier_ = source.classifier
        rows = self._rows(source.train_ref)
        components = min(COMPONENTS, *rows.shape)
        self.model_ = make_pipeline(
            PCA(components, whiten=True, svd_solver="full"),
            Nystroem(gamma=1 / components, n_components=min(KERNELS, len(rows)), random_state=0),
            SGDOneClassSVM(nu=self.nu, random_state=0),
        ).fit(rows)

    def _score(self, observation: Observation) -> Scores:
        return -self.model_.decision_function(self._rows(observation))

    def _rows(self, observation: Observation) -> FloatArray:
        """Returns the averaged feature maps, float64 (n, c * GRID * GRID), for c channels."""
        assert self.classifier_ is not None
        batches = torch.from_numpy(observation.images()).movedim(-1, 1).split(BATCH)
        maps = [self.classifier_.stages(images)[self.stage] for images in batches]
        cells = torch.cat([adaptive_avg_pool2d(each, GRID).flatten(1) for each in maps])
        return cells.cpu().double().numpy()
