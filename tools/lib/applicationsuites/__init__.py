"""Test suites of ORMs, over distributed tables and over ordinary ones."""
