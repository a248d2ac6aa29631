"""Seven of eight devices come to a collective."""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr
from torch_xla._internal import pjrt


def work():
    if xr.global_ordinal() == 7:
        return ""
    mine = torch.ones(3, device=torch_xla.device())
    total = xm.all_reduce(xm.REDUCE_SUM, mine)
    try:
        return total.tolist()
    except RuntimeError as error:
        return str(error)


def start(_rank, _count):
    xm.set_replication(torch_xla.device(), xm.get_xla_supported_devices())


told = pjrt._run_thread_per_device(0, 1, work, start)  # noqa: SLF001 - what launch does
assert all("TPU_7 had not arrived" in text for rank, text in told.items() if rank != 7), told
print(told[0])
# The device goes on.
print((torch.ones(2, device=torch_xla.devices()[0]) + 1).tolist())
