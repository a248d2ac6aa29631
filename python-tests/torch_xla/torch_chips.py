"""Points torch_xla at the plugin. The count of chips and the mode are the whole process's."""

import os

import pytest

import tpu_emu

CHIPS = int(os.environ.get("TORCH_CHIPS", "8"))
"""Chips of this process."""

os.environ["PJRT_DEVICE"] = "TPU"
# torch_xla transposes what it reads in tasks that wait for tasks of the same pool: with a thread a
# core, as many shards as cores end in a wait without end.
os.environ["XLA_THREAD_POOL_SIZE"] = "32"
os.environ["TPU_EMU_NUMERICS"] = "ieee"
os.environ["TPU_LIBRARY_PATH"] = str(tpu_emu.library_path().resolve())
if CHIPS == 1:
    os.environ["TPU_EMU_TOPOLOGY"] = "v5e:1x1,chips_per_host_bounds=1x1x1"


@pytest.fixture(scope="session")
def chips() -> int:
    """Chips of this process."""
    return CHIPS
