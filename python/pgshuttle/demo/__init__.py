"""The demo: five parts beside published figures; all_parts runs them.

Part 1, the join, is points that are measured in rounds; push_downs, procedures, prefetch and
spreading are the others. Each part measures, checks its claims and shows one table.
"""
