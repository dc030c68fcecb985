"""WordNet: which class is ID, near OOD, far OOD or dropped, and the images of such classes."""
