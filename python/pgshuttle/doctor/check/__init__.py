"""What facts mean: findings, and statements that mend; query_node begins."""
