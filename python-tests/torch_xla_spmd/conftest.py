"""All chips are one device: SPMD holds for a whole process."""

import pytest

from torch_chips import chips

__all__ = ["chips"]


@pytest.fixture(autouse=True, scope="session")
def _spmd() -> None:
    import torch_xla.runtime as xr  # noqa: PLC0415 - torch_chips sets what is read at its import

    xr.use_spmd()
