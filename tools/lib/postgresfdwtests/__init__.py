"""Runs postgres_fdw's own tests over pg_shuttle; see tools/postgres_fdw_tests."""
