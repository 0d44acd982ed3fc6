"""Builds docs/ as a site, with a page for every product's API from its OpenAPI document."""
