"""Dayshift: an honest workplace for agents to train in."""
