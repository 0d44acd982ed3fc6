"""The handbook: docs/ as a site, with a page for every product's API written from its OpenAPI while it is built."""
