"""Adapters for trainers and for trackers of experiments: one file each, with the package that it needs as an extra."""
