"""Runs every kind of test against temporary servers; see tools/run_tests."""
