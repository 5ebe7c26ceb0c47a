"""Servers on this machine: a query node and storage nodes behind delay proxies.

clusters starts and stops them, catalog tells the query node of the others and connects.
"""
