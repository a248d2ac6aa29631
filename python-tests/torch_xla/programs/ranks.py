"""A thread for each chip, started by `torch_xla.launch`: each rank computes its own, and they meet.

Its argument is the name of one of the functions.
"""

import copy
import sys

import torch
import torch.nn.functional as F
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr
from torch import nn

import torch_xla
import tpu_emu.torch_xla

tpu_emu.torch_xla.register()


def close(got, want):
    torch.testing.assert_close(got.detach().cpu(), want, rtol=1e-4, atol=1e-5)


def collectives(rank):
    device, size = torch_xla.device(), xr.world_size()
    assert (size, xr.global_ordinal()) == (8, rank)
    everyone = range(size)

    # A constant of the rank's own, and computations that the others do not have.
    x = torch.full((3,), rank + 1.0, device=device)
    for _ in range(rank):
        x = x + 1
    close(xm.all_reduce(xm.REDUCE_SUM, x), torch.full((3,), sum(2.0 * i + 1 for i in everyone)))
    close(xm.all_reduce(xm.REDUCE_MAX, x * rank), torch.full((3,), 15.0 * 7))
    pairs = [[0, 1], [2, 3], [4, 5], [6, 7]]
    first = rank // 2 * 2
    found = xm.all_reduce(xm.REDUCE_SUM, x, groups=pairs)
    close(found, torch.full((3,), 4.0 * first + 4))

    own = torch.arange(size, device=device) + 10 * rank
    close(xm.all_gather(own[:2]), torch.tensor([10 * i + j for i in everyone for j in (0, 1)]))
    scattered = xm.reduce_scatter(xm.REDUCE_SUM, own.float(), 1.0, 0, size)
    close(scattered, torch.tensor([280.0 + 8 * rank]))
    swapped = xm.all_to_all(own, 0, 0, size)
    close(swapped, torch.tensor([10 * i + rank for i in everyone]))
    ring = [[i, (i + 1) % size] for i in everyone]
    close(xm.collective_permute(own, ring), torch.arange(size) + 10 * ((rank - 1) % size))
    told = torch.full((2,), float(rank), device=device)
    xm.collective_broadcast([told], root_ordinal=3)
    close(told, torch.full((2,), 3.0))

    assert xm.mesh_reduce("sum", rank, sum) == 28
    xm.rendezvous("done")


# Drawn before there are threads: they share torch's generator.
MODEL = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
DATA = torch.randn(16, 4), torch.randn(16, 2)


def training(rank):
    device = torch_xla.device()
    (x, y), theirs, mine = DATA, copy.deepcopy(MODEL), copy.deepcopy(MODEL).to(device)
    own = slice(2 * rank, 2 * rank + 2)
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (mine, theirs)]
    for _ in range(3):
        optimizers[0].zero_grad()
        F.mse_loss(mine(x[own].to(device)), y[own].to(device)).backward()
        xm.optimizer_step(optimizers[0])
        torch_xla.sync()
        optimizers[1].zero_grad()
        F.mse_loss(theirs(x), y).backward()
        optimizers[1].step()
    for got, want in zip(mine.parameters(), theirs.parameters(), strict=True):
        close(got, want.detach())


def disagreement(rank):
    x = torch.ones(3, device=torch_xla.device())
    kind = xm.REDUCE_MAX if rank == 5 else xm.REDUCE_SUM
    xm.all_reduce(kind, x).cpu()


def too_few(rank):
    x = torch.ones(3, device=torch_xla.device())
    x = xm.all_reduce(xm.REDUCE_SUM, x)
    if rank != 2:
        x = xm.all_reduce(xm.REDUCE_SUM, x)
    x.cpu()


def one(rank):
    x = xm.all_reduce(xm.REDUCE_SUM, torch.ones(3, device=torch_xla.device()))
    assert (rank, xr.world_size(), x.tolist()) == (0, 1, [1, 1, 1])


if __name__ == "__main__":
    name = sys.argv[1]
    torch_xla.launch(globals()[name], debug_single_process=name == "one")
    print("ended")
