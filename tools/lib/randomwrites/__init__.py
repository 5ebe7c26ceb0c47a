"""Random transactions that write, over foreign tables and over local ones."""
