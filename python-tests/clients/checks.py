"""What a new user tries, as one script: each check says `ok` or `FAILED`, and the last line counts.

    TPU_LIBRARY_PATH=libpjrt_tpu_emu.so python checks.py [PART OF A NAME ...]

Runs in every JAX from 0.10 on with eight devices. Values are held against XLA's CPU backend in the
same process, with matrix products at the highest precision.
"""

import os
import sys
import time
import traceback

os.environ.setdefault("JAX_PLATFORMS", "tpu,cpu")

import jax

import eight_devices
import host_side
import one_device


def main(parts: list[str]) -> int:
    """Runs the checks whose names have one of these parts, or all; how many failed."""
    jax.config.update("jax_default_matmul_precision", "highest")
    print(f"jax {jax.__version__}, Python {sys.version.split()[0]}, {jax.devices()[0].device_kind}")
    checks = [check for module in (one_device, eight_devices, host_side) for check in module.CHECKS]
    chosen = [check for check in checks if not parts or any(p in check.__name__ for p in parts)]
    failed = 0
    for check in chosen:
        start = time.monotonic()
        try:
            check()
        except Exception:  # noqa: BLE001 - whatever a check raises is told, and the next one begins.
            failed += 1
            print(f"FAILED {check.__name__}")
            traceback.print_exc(file=sys.stdout)
        else:
            print(f"ok     {check.__name__} {time.monotonic() - start:.1f} s", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} checks passed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
