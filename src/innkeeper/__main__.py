"""`python -m innkeeper`."""

import sys

from innkeeper.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
