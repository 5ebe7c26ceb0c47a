"""Clusters whose nodes have standbys, under Patroni: making them, and pulling their plugs."""
