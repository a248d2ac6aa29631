"""Writes a device's code, as the client's jaxlib keeps it, in the form that programs are sent in.

Runs while a program with `jax.custom_partitioning` is compiled, with CODE and SIZE, where the code
lies, MAJOR, MINOR and PATCH, the newest version of StableHLO that is read, and GIVE, the address of
a C function of the plugin, among its globals.
"""

import ctypes

give = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)(GIVE)


def portable(code):
    from jaxlib import xla_client
    from jaxlib.mlir.dialects import stablehlo

    own = stablehlo.get_current_version()
    version = stablehlo.get_smaller_version(f"{MAJOR}.{MINOR}.{PATCH}", own)
    serialize = xla_client._xla.mlir.serialize_portable_artifact
    try:
        return serialize(code, version, use_mixed_serialization=True)
    except TypeError:
        # Older ones mix without being asked.
        return serialize(code, version)


try:
    made, whole = portable(ctypes.string_at(CODE, SIZE)), 1
except Exception as why:
    made, whole = f"{type(why).__name__}: {why}".encode(), 0
give(made, len(made), whole)
