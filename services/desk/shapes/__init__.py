"""Rows as answers show them."""
