"""Billing's verbs, by noun."""
