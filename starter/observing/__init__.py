"""What a method may see of an unlabelled set, and how it is observed and cached."""
