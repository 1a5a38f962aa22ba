"""Run the command line as ``python -m nammd``."""

import sys

from nammd.cli import main

if __name__ == "__main__":
    sys.exit(main())
