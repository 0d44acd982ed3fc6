"""The ledger's schema, step by step."""
