"""Sources of labelled and OOD images: CIFAR-10, embedded glyphs, paths; splits and downloads."""
