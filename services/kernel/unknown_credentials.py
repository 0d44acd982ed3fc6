"""Requests with a credential that opens nothing, and which episode's agent must have sent them."""

from collections import OrderedDict
from collections.abc import Hashable

_ENDED_KEPT = 10_000


class UnknownCredentials:
    """Counts them for an episode while only that one works from the address; of two, nobody can tell whose."""

    def __init__(self) -> None:
        self._at: dict[Hashable, set[str]] = {}
        self._addresses: dict[str, set[Hashable]] = {}
        self._counts: dict[str, int] = {}
        self._ended: OrderedDict[bytes, None] = OrderedDict()

    def record_served(self, episode_id: str, address: Hashable) -> None:
        addresses = self._addresses.setdefault(episode_id, set())
        if address not in addresses:
            addresses.add(address)
            self._at.setdefault(address, set()).add(episode_id)

    def record_refused(self, digest: bytes, address: Hashable) -> None:
        """A credential that was valid until its episode ended does not count."""
        working = self._at.get(address, ())
        if digest not in self._ended and len(working) == 1:
            (episode_id,) = working
            self._counts[episode_id] = self._counts.get(episode_id, 0) + 1

    def count(self, episode_id: str) -> int:
        return self._counts.get(episode_id, 0)

    def forget_episode(self, episode_id: str, digest: bytes) -> None:
        for address in self._addresses.pop(episode_id, ()):
            self._at[address].discard(episode_id)
            if not self._at[address]:
                del self._at[address]
        self._counts.pop(episode_id, None)
        self.retire(digest)

    def retire(self, digest: bytes) -> None:
        """Notes a credential that was valid until now: who still sends it has made no guess."""
        self._ended[digest] = None
        while len(self._ended) > _ENDED_KEPT:
            self._ended.popitem(last=False)
