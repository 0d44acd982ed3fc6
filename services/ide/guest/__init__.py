"""Programs that run inside a sandbox, under its own interpreter: standard library only (and jedi for `symbols`)."""

import sys

# `minimal_stdlib` and `files` import private modules, which differ between versions of the interpreter.
PYTHON = (3, 11)


def require_interpreter() -> None:
    if sys.version_info[:2] != PYTHON:
        wanted, present = (".".join(map(str, version)) for version in (PYTHON, sys.version_info[:2]))
        sys.exit(f"this sandbox needs Python {wanted}; its interpreter is Python {present}")
