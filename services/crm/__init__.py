"""The CRM: what a sales agent works in."""
