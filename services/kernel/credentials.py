"""How clients present a credential, and how it is recognised."""

import base64
import binascii
import hashlib
from collections.abc import Callable

Headers = list[tuple[bytes, bytes]]
CredentialFormat = Callable[[Headers], str | None]

_LONGEST = 512


def bearer(headers: Headers) -> str | None:
    return _after_scheme(headers, b"bearer ")


def token(headers: Headers) -> str | None:
    return _after_scheme(headers, b"token ")


def basic_password(headers: Headers) -> str | None:
    """`user:credential`, or `email/token:credential` as support desks send it."""
    pair = _basic(headers)
    return None if pair is None else pair.partition(":")[2] or None


def basic_username(headers: Headers) -> str | None:
    """`credential:`, as billing clients send their secret key."""
    pair = _basic(headers)
    return None if pair is None else pair.partition(":")[0] or None


def api_key(headers: Headers) -> str | None:
    return _text(_header(headers, b"x-api-key"))


def find_credential(headers: Headers, formats: tuple[CredentialFormat, ...]) -> str | None:
    for read in formats:
        if (credential := read(headers)) is not None:
            return credential
    return None


def digest(credential: str) -> bytes:
    """What is stored and compared instead of the secret, so that a look-up leaks no prefix of it."""
    return hashlib.sha256(credential.encode()).digest()


def _after_scheme(headers: Headers, scheme: bytes) -> str | None:
    value = _header(headers, b"authorization")
    if value is None or value[: len(scheme)].lower() != scheme:
        return None
    return _text(value[len(scheme) :].strip())


def _basic(headers: Headers) -> str | None:
    encoded = _after_scheme(headers, b"basic ")
    if encoded is None:
        return None
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _header(headers: Headers, name: bytes) -> bytes | None:
    for key, value in headers:
        if key == name:
            return value
    return None


def _text(value: bytes | None) -> str | None:
    if not value or len(value) > _LONGEST:
        return None
    return value.decode("latin-1")
