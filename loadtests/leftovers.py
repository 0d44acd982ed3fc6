"""Leftovers: what the stack still has open after a fault, and more than before it."""

from dataclasses import dataclass

# The usual variation of either kind: idle forks, warm sandboxes and pooled connections come and go.
_USUAL_VARIATION = 24
_PLAYGROUND = 1


@dataclass(frozen=True, slots=True)
class OpenResources:
    """What the stack has open when nobody uses it."""

    forks: int
    connections: int
    files: int

    def leftovers_since(self, before: "OpenResources") -> list[str]:
        """Return what is left over: forks beside the playground's, connections and files beyond the usual variation."""
        growth = {
            "connections": self.connections - before.connections,
            "files": self.files - before.files,
        }
        forks = [f"{self.forks - _PLAYGROUND} forks"] if self.forks > _PLAYGROUND else []
        return [*forks, *(f"{more} {kind}" for kind, more in growth.items() if more > _USUAL_VARIATION)]
