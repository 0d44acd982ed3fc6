"""The desk's search language: read, planned, answered."""
