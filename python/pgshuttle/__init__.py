"""Checks, shows, tries and measures pg_shuttle."""

__version__ = "0.1.0"
