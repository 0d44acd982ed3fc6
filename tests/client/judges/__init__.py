"""Programs that run in a virtual environment of their own, beside packages that the project does not have."""
