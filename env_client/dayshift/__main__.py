"""python -m dayshift: the same as the `dayshift` command."""

import sys

from dayshift.cli import main

sys.exit(main())
