"""What the desk does."""
