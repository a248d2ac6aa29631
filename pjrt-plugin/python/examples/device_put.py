"""Puts arrays on an emulated TPU and shows who holds its memory.

Run it with the plugin in `TPU_LIBRARY_PATH`, `JAX_PLATFORMS=tpu` and this package installed or
in `PYTHONPATH`.
"""

import jax
import jax.numpy as jnp
import numpy as np

import tpu_emu


def show_live(title: str) -> None:
    """Prints every allocation that lives now."""
    print(f"== {title}")
    for change in tpu_emu.snapshot().live:
        print(tpu_emu.change_text(change))
    print()


def main() -> None:
    """Puts three arrays, reads them back, deletes one."""
    print(f"{len(jax.devices())} x {jax.devices()[0].device_kind}\n")

    scalar = jax.device_put(1)
    matrix = jax.device_put(np.arange(12, dtype=np.float32).reshape(3, 4))
    halves = jax.device_put(np.full((8, 129), 1.5, jnp.bfloat16))
    show_live("after three puts")

    print("== read back")
    print(int(scalar))
    print(np.asarray(matrix))
    print(np.unique(np.asarray(halves)), "\n")

    matrix.delete()
    show_live("after matrix.delete()")

    stats = jax.devices()[0].memory_stats()
    print(f"{stats['bytes_in_use']} bytes in use, {stats['peak_bytes_in_use']} at the peak")


if __name__ == "__main__":
    main()
