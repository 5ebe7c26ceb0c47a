"""What is read of the query node and, through it, of nodes; query_node begins."""
