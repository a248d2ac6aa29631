"""Collectives between eight threads of one process, each with a device of its own."""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr
from torch_xla._internal import pjrt


def work():
    rank, count, device = xr.global_ordinal(), xr.world_size(), torch_xla.device()
    mine = torch.full((3,), float(rank), device=device)
    total = xm.all_reduce(xm.REDUCE_SUM, mine)
    gathered = xm.all_gather(mine[:1])
    passed_on = xm.collective_permute(mine, [[k, (k + 1) % count] for k in range(count)])
    part = xm.reduce_scatter(xm.REDUCE_SUM, torch.arange(8.0, device=device), 1.0, 0, count)
    swapped = xm.all_to_all(torch.arange(8.0, device=device) + 10 * rank, 0, 0, count)
    torch_xla.sync()
    assert total.tolist() == [28.0] * 3
    assert gathered.tolist() == [float(k) for k in range(8)]
    assert passed_on.tolist() == [float((rank - 1) % count)] * 3
    assert part.tolist() == [8.0 * rank]
    assert swapped.tolist() == [rank + 10.0 * k for k in range(8)]

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        (model(torch.ones(1, 4, device=device) * rank) ** 2).sum().backward()
        xm.optimizer_step(optimizer)
        torch_xla.sync()
    for _ in range(20):
        mine = xm.all_reduce(xm.REDUCE_SUM, mine) / count
        torch_xla.sync()
    assert mine.tolist() == [3.5] * 3
    return model.weight.detach().cpu()


def start(_rank, _count):
    xm.set_replication(torch_xla.device(), xm.get_xla_supported_devices())


weights = pjrt._run_thread_per_device(0, 1, work, start)  # noqa: SLF001 - what launch does
assert all(torch.equal(weight, weights[0]) for weight in weights.values())
print(len(weights), "threads agree")
