"""A built competition, read: its images, its subjects; shown, written out, audited, on a cluster."""
