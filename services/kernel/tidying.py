"""How often Python looks for rings of dead objects: a service makes few of them, and many that die by themselves."""

import gc

# Containers made since the last look. One history of some days is a hundred thousand of them, all of them alive.
_BEFORE_A_LOOK = 50_000


def settle_in() -> None:
    """Called once all is loaded: what is there by then stays, and is not gone through again at every look."""
    gc.freeze()
    gc.set_threshold(_BEFORE_A_LOOK, 10, 10)
