"""`python -m tpu_emu`."""

import sys

from tpu_emu.cli import main

sys.exit(main())
