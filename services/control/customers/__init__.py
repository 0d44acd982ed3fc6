"""Simulated customers and colleagues: they use a product as people do, and judge by whether their problem is fixed."""
