"""Validation: what every task family must keep, tried without a model."""
