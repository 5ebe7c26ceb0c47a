"""TPC-C's transactions over several nodes; report says what is run, run runs it."""
