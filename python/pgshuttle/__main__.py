"""python -m pgshuttle"""

from pgshuttle.commands.cli import main

if __name__ == "__main__":
    main()
