"""Sets of images in memory, and reading them from folders, zips, npz and npy files."""
