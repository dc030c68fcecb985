"""Estimates of a model's accuracy on unlabelled images, without a competition."""
