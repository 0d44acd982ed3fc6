"""What a fault leaves behind."""

from dataclasses import dataclass

# Above what was open before, of either kind: idle forks, warm sandboxes and pools are some more or less at any moment.
_ALLOWED = 24
_PLAYGROUND = 1


@dataclass(frozen=True, slots=True)
class Held:
    """What the stack has open when nobody uses it."""

    forks: int
    connections: int
    files: int

    def left_since(self, before: "Held") -> list[str]:
        """What a fault left behind: forks beside the playground's, and more of the rest than comes and goes."""
        grown = {
            "connections": self.connections - before.connections,
            "files": self.files - before.files,
        }
        forks = [f"{self.forks - _PLAYGROUND} forks"] if self.forks > _PLAYGROUND else []
        return [*forks, *(f"{more} {kind}" for kind, more in grown.items() if more > _ALLOWED)]
