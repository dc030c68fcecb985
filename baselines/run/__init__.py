"""Running methods on a competition: the kit's and a user's own."""
