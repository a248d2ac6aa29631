"""A product of a sharded and a whole array."""

import numpy as np
import torch
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr

import torch_xla

xr.use_spmd()
mesh = xs.Mesh(np.arange(8), (8,), ("rows",))
x = torch.arange(64.0).reshape(16, 4).to(torch_xla.device())
xs.mark_sharding(x, mesh, ("rows", None))
y = x @ torch.ones(4, 6, device=torch_xla.device())
torch_xla.sync()
torch.testing.assert_close(y.cpu(), torch.arange(64.0).reshape(16, 4) @ torch.ones(4, 6))
print(tuple(y.cpu().shape), torch_xla._XLAC._get_xla_sharding_spec(y))
