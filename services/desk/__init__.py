"""The support desk."""
