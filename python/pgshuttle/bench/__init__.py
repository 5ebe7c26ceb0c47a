"""Measurements that answer one question each.

measure times queries, results describes a run, making_tables is for the tables of all.
"""
