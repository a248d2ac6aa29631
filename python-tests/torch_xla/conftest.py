"""Every chip is a device of its own."""

import pytest

from torch_chips import chips

__all__ = ["chips"]


@pytest.fixture(autouse=True)
def _own_numbers() -> None:
    """Each test draws the same random numbers, whatever ran before it."""
    import torch  # noqa: PLC0415 - the variables of torch_chips are read when it is imported

    import torch_xla  # noqa: PLC0415

    torch.manual_seed(0)
    torch_xla.manual_seed(0)
