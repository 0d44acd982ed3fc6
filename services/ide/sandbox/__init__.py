"""Sandboxes seen from the service: how they are started and isolated, what they may use, and the pool of them."""
