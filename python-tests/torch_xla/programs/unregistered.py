"""`torch_xla.launch` without the plugin of `tpu_emu.torch_xla`."""

import torch_xla

if __name__ == "__main__":
    torch_xla.launch(print)
