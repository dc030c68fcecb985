"""The OOD track: metrics of OOD detectors on mixes of IND and OOD images."""
