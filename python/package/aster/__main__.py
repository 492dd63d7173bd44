"""``python -m aster sweep …``: what the package adds to the command line."""

import sys

from ._command import main

sys.exit(main())
