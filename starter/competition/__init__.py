"""Reading, showing, exporting and auditing a built competition, and work on it on a cluster."""
