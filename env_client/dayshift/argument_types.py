"""Types of command-line arguments, each of which refuses a bad value in one sentence that says what it takes."""

import argparse
from argparse import ArgumentTypeError
from typing import NoReturn

MAX_SEED = 2**63
_MAX_PORT = 65_535


class ArgumentParser(argparse.ArgumentParser):
    """Refuses what cannot be in one line: the list of all options would hide the sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; `{self.prog} --help` lists what it takes\n")


def parse_whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from error


def parse_not_negative(text: str) -> int:
    number = parse_whole(text)
    if number < 0:
        raise ArgumentTypeError(f"{number} is less than 0")
    return number


def parse_positive(text: str) -> int:
    number = parse_whole(text)
    if number < 1:
        raise ArgumentTypeError(f"{number} is not positive")
    return number


def parse_seed(text: str) -> int:
    seed = parse_whole(text)
    if not 0 <= seed < MAX_SEED:
        raise ArgumentTypeError(f"{seed} is not a seed: it must be at least 0 and less than 2**63")
    return seed


def parse_port(text: str) -> int:
    port = parse_whole(text)
    if not 0 <= port <= _MAX_PORT:
        raise ArgumentTypeError(f"{port} is not a port: it must be at least 0 and at most {_MAX_PORT}")
    return port


def parse_number(text: str) -> float:
    """A finite number that is not negative: none of our options takes another."""
    try:
        number = float(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a number") from error
    if not 0 <= number < float("inf"):
        raise ArgumentTypeError(f"{text} is not a finite number of at least 0")
    return number
