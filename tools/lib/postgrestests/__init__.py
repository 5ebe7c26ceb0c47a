"""Runs PostgreSQL's own regression tests over distributed tables; see tools/postgres_tests."""
