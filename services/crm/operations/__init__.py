"""Verbs of the CRM, by noun. They know rows and refusals, never HTTP."""
