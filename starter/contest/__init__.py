"""The two tracks: the settings of a competition, its plan, and what is observed and measured of its sets."""
