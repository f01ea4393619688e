"""`python -m smgcfg`."""

import sys

from smgcfg.cli import main

if __name__ == "__main__":
    sys.exit(main())
