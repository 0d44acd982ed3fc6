"""Billing: customers, what they bought, what they owe and what they paid."""
