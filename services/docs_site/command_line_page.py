"""Writes the client's commands and their options as Markdown, from their parsers."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from dayshift.cli import build_parser

_WIDTH = "100"


def describe_commands() -> str:
    """Every command with its help, as `--help` prints it."""
    parser = build_parser()
    lines: list[str] = []
    with _fix_width():
        lines += _help(parser)
        for name, command in _commands(parser):
            lines += [f"## {name}", "", *_help(command)]
    return "\n".join(lines)


def _help(parser: argparse.ArgumentParser) -> list[str]:
    return ["```text", parser.format_help().rstrip(), "```", ""]


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list commands
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            yield from action.choices.items()


@contextmanager
def _fix_width() -> Iterator[None]:
    """Help is wrapped at the width of the terminal, which a page has not."""
    with patch.dict(os.environ, {"COLUMNS": _WIDTH}):
        yield
