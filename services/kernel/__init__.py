"""What every product shares; knows no product."""
