"""The desk's search language: parsing, planning and running a query."""
