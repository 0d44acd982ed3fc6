"""How often Python collects cyclic garbage: a service makes few cycles and many objects that need no collector."""

import gc

# Containers made since the last collection. The history of some days is a hundred thousand of them, all alive.
_THRESHOLD = 50_000


def tune_garbage_collector() -> None:
    """Call this once everything is loaded: what exists by then stays, and no collection goes through it again."""
    gc.freeze()
    gc.set_threshold(_THRESHOLD, 10, 10)
