"""Programs that run inside a sandbox, under its own interpreter: standard library only (and jedi for `symbols`)."""

import sys

# `minimal_stdlib` and `files` import private modules, which differ between versions of the interpreter. These are the
# versions on which they are tested.
PYTHONS = ((3, 11), (3, 12), (3, 13))


def require_interpreter() -> None:
    if sys.version_info[:2] not in PYTHONS:
        wanted = ", ".join(".".join(map(str, version)) for version in PYTHONS)
        present = ".".join(map(str, sys.version_info[:2]))
        sys.exit(f"this sandbox needs one of Python {wanted}; its interpreter is Python {present}")
