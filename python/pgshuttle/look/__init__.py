"""Looking at a server that is there: its plans, tables and counters.

target finds which one; plan_facts reads EXPLAIN, plan_view and plan_page show it.
"""
