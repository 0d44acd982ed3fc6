"""Salt: a secret that is mixed into every random choice, so that nobody can repeat the choices without it."""

import hashlib
from dataclasses import dataclass, field

_MOST_SEED = 2**63
_TURNS = 4


@dataclass(frozen=True, slots=True)
class Salt:
    """A secret, or none; without one every choice is as the public code makes it."""

    secret: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.secret)

    @property
    def fingerprint(self) -> str | None:
        """Twelve digits that tell salts apart and do not give the salt away; None without one."""
        return self._digest("fingerprint").hex()[:12] if self.secret else None

    def mix_seed(self, seed: int) -> int:
        """The seed that the services draw from; without a salt it is the seed of the request."""
        return int.from_bytes(self._digest(f"seed\x1f{seed}")[:8], "big") % _MOST_SEED if self.secret else seed

    def mix_name(self, name: str) -> str:
        """The name of a stream of chance; without a salt it is the name itself."""
        return self._digest(f"name\x1f{name}").hex() if self.secret else name

    def permute(self, number: int, count: int, name: str) -> int:
        """A permutation of range(count) that only the salt tells: a Feistel network, repeated until it is in range."""
        half = max(1, (max(count - 1, 1).bit_length() + 1) // 2)
        while True:
            left, right = number >> half, number & ((1 << half) - 1)
            for turn in range(_TURNS):
                digest = self._digest(f"order\x1f{name}\x1f{turn}\x1f{right}")
                left, right = right, left ^ (int.from_bytes(digest[:4], "big") & ((1 << half) - 1))
            number = left << half | right
            if number < count:
                return number

    def _digest(self, text: str) -> bytes:
        return hashlib.sha256(f"dayshift salt\x1f{self.secret}\x1f{text}".encode()).digest()


NO_SALT = Salt()
