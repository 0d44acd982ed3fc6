"""The limit of open files: each open episode holds a world file, and many systems allow 1,024 files by default."""

import resource

_WANTED = 65_536


def raise_file_limit() -> None:
    """Raise the soft limit of this process as far as the hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
