"""Starts small clusters for pg_shuttle, measures them and draws the figures."""

__version__ = "0.1.0"
