"""What pgshuttle doctor finds out, and what it makes of that.

read/ collects facts, check/ turns them into findings; what is of one topic has one name there.
"""
