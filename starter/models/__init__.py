"""Frozen networks: classifiers, and encoders of images and texts."""
