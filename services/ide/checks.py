"""What a task can ask of the IDE."""

from services.kernel.checks import Check

checks: dict[str, type[Check]] = {}
