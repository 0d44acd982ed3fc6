"""Settings: read once, frozen, passed on. The defaults run on a laptop."""

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_ADDRESS = re.compile(r"DAYSHIFT_([A-Z][A-Z0-9_]*?)_(PORT|DOOR_URL|URL)")
_DOOR_ABOVE = 10
_ANY_HOST = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, not bound to


class BadSetting(ValueError):
    """An environment variable that cannot be meant."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the environment may decide."""

    var: Path = Path("var")
    host: str = "127.0.0.1"
    door_host: str = "127.0.0.1"
    control_port: int = 8700
    control_token: str = field(default="", repr=False)
    door_token: str = field(default="", repr=False)
    playground_token: str = field(default="playground", repr=False)
    ledger_url: str = ""
    redis_url: str = ""
    lease_seconds: float = 1800.0
    max_episodes: int = 2000
    worlds: tuple[str, ...] = ()
    # Ports of control's at which agents outside its network reach second and further replicas; none: no relay.
    relay: tuple[int, ...] = ()
    log_level: str = "info"
    # 0: as much as the product says of itself.
    body_limit: int = 0
    # Where services stand, if not at their own ports on this machine: DAYSHIFT_CRM_PORT, _URL and _DOOR_URL.
    addresses: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def worlds_folder(self) -> Path:
        return self.var / "worlds"

    def port(self, service: str, own: int) -> int:
        given = self.addresses.get((service, "PORT"))
        return own if given is None else _port(service, given)

    def door_port(self, service: str, own: int) -> int:
        return self.port(service, own) + _DOOR_ABOVE

    def url(self, service: str, own: int) -> str:
        """Where agents reach it, as they would write it."""
        return self.addresses.get((service, "URL")) or f"http://{reachable(self.host)}:{self.port(service, own)}"

    def door_url(self, service: str, own: int) -> str:
        given = self.addresses.get((service, "DOOR_URL"))
        return given or f"http://{reachable(self.door_host)}:{self.door_port(service, own)}"

    @classmethod
    def from_environment(cls, environment: dict[str, str] | None = None) -> "Settings":
        read = dict(os.environ) if environment is None else environment
        var = Path(read.get("DAYSHIFT_VAR", "var"))
        return cls(
            var=var,
            host=read.get("DAYSHIFT_HOST", "127.0.0.1"),
            door_host=read.get("DAYSHIFT_DOOR_HOST", "127.0.0.1"),
            control_port=int(_number(read, "DAYSHIFT_CONTROL_PORT", 8700)),
            control_token=read.get("DAYSHIFT_CONTROL_TOKEN") or kept_secret(var / "control.token"),
            door_token=read.get("DAYSHIFT_DOOR_TOKEN") or kept_secret(var / "door.token"),
            playground_token=read.get("DAYSHIFT_PLAYGROUND_TOKEN", "playground"),
            ledger_url=read.get("DAYSHIFT_LEDGER_URL", ""),
            redis_url=read.get("DAYSHIFT_REDIS_URL", ""),
            lease_seconds=_number(read, "DAYSHIFT_LEASE", 1800.0),
            max_episodes=int(_number(read, "DAYSHIFT_MAX_EPISODES", 2000)),
            worlds=tuple(name for name in read.get("DAYSHIFT_WORLDS", "").split(",") if name),
            relay=_port_range(read.get("DAYSHIFT_RELAY", "")),
            body_limit=int(_number(read, "DAYSHIFT_BODY_LIMIT", 0, least=0)),
            log_level=read.get("DAYSHIFT_LOG", "info").lower(),
            addresses=_addresses(read),
        )


def reachable(host: str) -> str:
    """A server may listen everywhere; a client must go somewhere."""
    return "127.0.0.1" if host in _ANY_HOST else host


def _addresses(read: Mapping[str, str]) -> dict[tuple[str, str], str]:
    found = ((_ADDRESS.fullmatch(name), value) for name, value in read.items())
    return {(match[1].lower(), match[2]): value.rstrip("/") for match, value in found if match and value}


def _port_range(given: str) -> tuple[int, ...]:
    """`8721-8728`, or one port; nothing for none."""
    if not given:
        return ()
    first, _, last = given.partition("-")
    return tuple(range(_port("relay", first), _port("relay", last or first) + 1))


def _port(service: str, given: str) -> int:
    if not given.isdecimal() or not 0 < int(given) < 65536:
        raise BadSetting(f"DAYSHIFT_{service.upper()}_PORT={given!r} is not a port")
    return int(given)


def kept_secret(path: Path) -> str:
    """The secret in this file, made on first use, readable by its owner alone."""
    if not path.exists():
        _make_secret(path)
    return _existing_secret(path)


def _make_secret(path: Path) -> None:
    """Written apart and then linked: of two processes that start at once, both read the same whole secret."""
    path.parent.mkdir(parents=True, exist_ok=True)
    apart = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(apart, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(32))
    with suppress(FileExistsError):
        os.link(apart, path)
    apart.unlink()


def _existing_secret(path: Path) -> str:
    kept = path.read_text().strip()
    if not kept:
        raise BadSetting(f"{path} is empty; remove it and start again")
    return kept


def _number(read: dict[str, str], name: str, default: float, least: float = 1e-9) -> float:
    try:
        value = float(read.get(name, default))
    except ValueError as error:
        raise BadSetting(f"{name}={read[name]!r} is not a number") from error
    if not least <= value < float("inf"):
        raise BadSetting(f"{name}={read[name]!r} must be finite and at least {least:g}")
    return value
