"""Tells the plugin the folders in which this interpreter looks for packages.

Runs when the real compiler is first asked, with TAKE, the address of a C function of the plugin,
among its globals.
"""

import ctypes
import os
import sys

take = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(TAKE)
for folder in sys.path:
    take(os.fsencode(os.path.abspath(folder)))
