"""Customers: scripted people who use the desk as end users do, and judge by where their problem lives."""
