"""``python -m aster sweep …`` and ``python -m aster fit …``: what the package adds to the command line."""

import sys

from . import _command, _fit_command

if sys.argv[1:2] == ["fit"]:
    sys.exit(_fit_command.main(sys.argv[2:]))
sys.exit(_command.main())
