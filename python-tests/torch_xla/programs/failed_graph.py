"""A program that cannot be compiled, whose graph is alive when the process ends."""

import torch

import torch_xla

x = torch.ones(3, device=torch_xla.device())
y = torch_xla._XLAC._xla_custom_call(
    [x], "no_such_target", [[3]], [torch.float32], False, "", 1, {}
)
torch_xla.sync()
print(y)
