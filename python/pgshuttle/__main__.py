"""python -m pgshuttle"""

from pgshuttle.cli import main

if __name__ == "__main__":
    main()
