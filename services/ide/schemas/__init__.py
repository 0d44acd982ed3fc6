"""Request and response bodies, one module per protocol."""
