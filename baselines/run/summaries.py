"""What each of the kit's methods is, in a line, and whose it is: the facts of docs/how-to/methods.md."""

SUMMARIES = {
    "constant": "the mean of the meta-train targets: what skill is measured against",
    "confscore": "mean confidence; linear regression (Hendrycks & Gimpel 2017)",
    "entropy": "mean softmax entropy; linear regression (Guillory et al. 2021)",
    "atc": "share of images above the confidence that fits the source, as it is (Garg et al. 2022)",
    "atc+lr": "atc's share; linear regression (Garg et al. 2022)",
    "atc-datacv": "atc as in DataCV's starter kit, which cuts at the other quantile; linear regression",
    "fd": "Frechet distance to the training features; linear regression (Deng & Zheng 2021)",
    "rotation": "accuracy of a four-way rotation head; linear regression (Deng, Gould & Zheng 2021)",
    "doc": "source accuracy plus the difference of mean confidences, as it is (Guillory et al. 2021)",
    "doc+lr": "doc's estimate; linear regression (Guillory et al. 2021)",
    "cbpe": "mean confidence after isotonic calibration on the source (NannyML)",
    "nuclear": "nuclear norm of the softmax matrix; linear regression (Deng et al. 2023)",
    "mano": "4-norm of the normalised logits; linear regression (Xie et al. 2024)",
    "cot": "optimal transport from the softmax to the source's labels (Lu et al. 2023)",
    "cott": "share transported below the cost that fits the source (Lu et al. 2023)",
    "mde": "meta-distribution energy, less log n; linear regression (Peng et al. 2024)",
    "softmaxcorr": "cosine of the class correlation with the class prior; linear regression (Tu et al. 2024)",
    "dispersion": "how far apart predicted classes' mean features lie; linear regression (Xie et al. 2023)",
    "ei": "how often and surely rotated and grey copies are classified alike; linear regression "
    "(Deng et al. 2022)",
    "gde": "agreement with the competition's other classifiers, as it is (Jiang et al. 2022)",
    "gde+lr": "gde's agreement; linear regression (Jiang et al. 2022)",
    "bop": "how often prototypes of the training features occur; linear regression (Tu et al. 2023)",
    "projnorm": "how far weights move when trained on the set's own predictions; linear regression "
    "(Yu et al. 2022)",
    "stack": "thirteen indicators, regressed on and combined as cross-validation by operation weighs them",
    "ora-a": "SYP's oracle: an MLP tells from six indicators whether an image is right "
    "(Chen, Zhang & Song 2023)",
    "ora-b": "SYP's oracle with self-attention in place of the MLP (Chen, Zhang & Song 2023)",
    "syp": "SYP: the mean of ora-a and ora-b (Chen, Zhang & Song 2023)",
    "ora-l": "LightGBM on the oracle's indicators, in seconds",
    "unseen-best": "trees on richer indicators, transport under an estimated class prior, a correction",
    "gscore-kmeans": "how far apart the scores' K-means centres lie; linear regression "
    "(Zhang, Deng & Zheng 2023)",
    "gscore-gmm-w": "Wasserstein distance of two Gaussians on the scores; linear regression "
    "(Zhang, Deng & Zheng 2023)",
    "gscore-gmm-kl": "KL divergence of two Gaussians on the scores; linear regression "
    "(Zhang, Deng & Zheng 2023)",
    "gscore-ude-w": "as gscore-gmm-w, where only IND gets a Gaussian beforehand (Zhang, Deng & Zheng 2023)",
    "gscore-ude-kl": "as gscore-gmm-kl, where only IND gets a Gaussian beforehand (Zhang, Deng & Zheng 2023)",
    "confident": "the metric, if what the classifier is sure of counts as IND (Zhang, Deng & Zheng 2023)",
    "auto-eval": "Frechet distance of the features, as fd; linear regression (Deng & Zheng 2021)",
    "plugin": "the metric of the mix's scores less those of its IND images, whose share is known (half)",
    "plugin-mpe": "plugin with the IND share estimated from the mix (Garg et al. 2021)",
    "gscore-best": "plugin-mpe corrected by what ridge and boosted trees learn of its error",
}
"""By the method's name, of both tracks. Where nobody is named the method is this kit's."""
