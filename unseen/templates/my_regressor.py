"""A method of your own from scikit-learn: a regressor, or pipeline that ends in one, on a table of features.

Each row is a set and each column an indicator: `unseen.open("DIR").features("train")` shows the table. The
regressor is fitted to the accuracies (in the OOD track, to the values of the metric), which are fractions.

Check it with `unseen check-method my_regressor:model` (in the OOD track, add `--track ood`), run it with
`unseen predict DIR my_regressor:model`.
Before you hand in, `unseen validate DIR FILE`: invalid files count, too.
"""

from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

# `--set my_regressor:model.ridge__alpha=10` changes a parameter.
model = make_pipeline(StandardScaler(), Ridge(alpha=1.0))
