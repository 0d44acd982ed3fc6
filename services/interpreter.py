"""The Python versions that the services run on.

The standard library alone is imported here, so that the check runs before anything that another interpreter may lack.
"""

import platform

SUPPORTED = ("3.11", "3.12", "3.13")


def explain_unsupported(version: str) -> str | None:
    """Return why the services do not start on this Python version, or None where they do."""
    minor = ".".join(version.split(".")[:2])
    if minor in SUPPORTED:
        return None
    return f"cannot start on Python {version}: the services are tested on Python {', '.join(SUPPORTED)} and no other"


def explain_unsupported_here() -> str | None:
    return explain_unsupported(platform.python_version())
