"""Random queries over foreign tables, compared with the same over local tables."""
