"""Where labelled and OOD images come from: CIFAR-10, embedded glyphs, paths; splits and downloads."""
