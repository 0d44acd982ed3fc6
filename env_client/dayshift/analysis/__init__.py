"""Analysis of runs: the dashboard's numbers, and the monitor of surges."""
