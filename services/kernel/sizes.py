"""Sizes, for modules that must be imported without a web framework, too."""

MIB = 1 << 20
