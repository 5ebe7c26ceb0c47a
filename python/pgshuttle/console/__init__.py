"""The page of a cluster: what its nodes, tablets, commits and statements are doing.

sessions run queries on the query node, nodes, tablets, commits, statements and checks read one
part of the page each, watch repeats them while somebody looks, board keeps what changed,
gate decides who may ask, app answers.
"""
