"""Tests of the courier service, its bugs, and the tasks in it."""
