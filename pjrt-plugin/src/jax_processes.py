"""Tells the plugin which process of how many JAX has made this one.

Runs before a client is made, with TAKE, the address of a C function of the plugin, among its
globals. JAX tells a TPU neither number (`jax.distributed.initialize`).
"""

import ctypes
import sys

state = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
if getattr(state, "client", None) is not None:
    take = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_int32)(TAKE)
    take(getattr(state, "process_id", 0), getattr(state, "num_processes", 1))
