"""Random statements that try to see what is hidden."""
