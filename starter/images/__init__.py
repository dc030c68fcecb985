"""Images: sets of them in memory, and how they are read from folders, zips, npz and npy files."""
