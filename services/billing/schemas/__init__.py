"""Request and response bodies, by noun."""
