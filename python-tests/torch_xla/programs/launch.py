"""`torch_xla.launch` with the plugin of this project: one process, a thread for each chip."""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr

import tpu_emu.torch_plugin

tpu_emu.torch_plugin.register()


def work(index):
    rank = torch.full((1,), float(index), device=torch_xla.device())
    total = xm.all_reduce(xm.REDUCE_SUM, rank)
    print(f"rank {index} of {xr.world_size()}: {total.item()}\n", end="", flush=True)


if __name__ == "__main__":
    torch_xla.launch(work)
