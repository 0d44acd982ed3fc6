"""Exports of single trajectories in formats of other tools."""
