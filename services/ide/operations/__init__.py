"""Verbs of the IDE."""
