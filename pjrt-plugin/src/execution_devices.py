"""Tells the plugin for which devices JAX loads a serialized program.

Runs while `jax.experimental.serialize_executable` waits for the program, with TAKE, the address of
a C function of the plugin, among its globals. jaxlib keeps the devices to itself, and ends the
process where they are not those of the program.
"""

import ctypes
import sys


def waiting_loads():
    """The objects whose `persistent_load` waits for a program now."""
    for frame in sys._current_frames().values():
        while frame is not None:
            code = frame.f_code
            if code.co_name == "persistent_load" and "serialize_executable" in code.co_filename:
                yield frame.f_locals.get("self")
            frame = frame.f_back


loads = list(waiting_loads())
# Of several at once nobody knows which one asks.
if len(loads) == 1:
    take = ctypes.CFUNCTYPE(None, ctypes.c_int64)(TAKE)
    for device in getattr(loads[0], "execution_devices", None) or ():
        take(device.id)
