"""Locust users and shapes, the consistency checker, reports."""
