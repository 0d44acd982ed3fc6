"""Bodies that come and go."""
