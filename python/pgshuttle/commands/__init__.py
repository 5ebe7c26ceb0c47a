"""The commands of pgshuttle: they read options, call the other packages, and print."""
