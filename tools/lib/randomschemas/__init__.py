"""Random schemas whose keys and foreign keys do not follow the distribution column."""
