"""Forms with files that nobody can read: a product declines them in its own words, and goes on."""

import httpx

_FIELD = b'--mark\r\nContent-Disposition: form-data; name="%d"\r\n\r\nx\r\n'
_UNREADABLE = (
    b"no boundary at all",
    b"--mark\r\nno header\r\n\r\n--mark--\r\n",
    b"--mark\r\nContent-Disposition: form-data\r\n\r\nwithout a name\r\n--mark--\r\n",
    b"".join(_FIELD % at for at in range(1001)) + b"--mark--",
)
_KINDS = ("multipart/form-data; boundary=mark", "multipart/form-data")


def send_unreadable_forms(http: httpx.Client, path: str) -> set[int]:
    """How they are answered."""
    return {
        http.post(path, content=body, headers={"content-type": kind}).status_code
        for body in _UNREADABLE
        for kind in _KINDS
    }
