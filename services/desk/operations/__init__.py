"""What the desk does for its callers."""
