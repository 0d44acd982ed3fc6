"""Dayshift's services: one kernel, one folder per product, one control plane."""
