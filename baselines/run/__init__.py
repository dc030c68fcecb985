"""Functions that run methods, the kit's and a user's own, on a competition."""
