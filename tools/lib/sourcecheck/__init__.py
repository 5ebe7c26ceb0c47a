"""The rules of our sources that a machine can check; see tools/check_source.py."""
