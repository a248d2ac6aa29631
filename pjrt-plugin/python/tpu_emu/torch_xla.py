"""The emulated chips as a device plugin of torch_xla, for `torch_xla.launch`.

torch_xla starts as many processes as it counts chips on the PCI bus, where emulated ones are not:
`ValueError: max_workers must be greater than 0`. With this plugin it starts one, with a thread for
each chip. Whoever starts programs so registers it where the module of the program begins, since
the process that torch_xla starts reads that again:

    import tpu_emu.torch_xla

    tpu_emu.torch_xla.register()
"""

import os

import torch_xla
from torch_xla.core import xla_model
from torch_xla.experimental import plugins

from tpu_emu.library import library_path

_ONE_CHIP = "v5e:1x1,chips_per_host_bounds=1x1x1"


class Plugin(plugins.DevicePlugin):  # type: ignore[misc] # torch_xla has no types
    """All chips belong to one process."""

    def library_path(self) -> str:
        """The file that torch_xla loads."""
        return os.environ.get("TPU_LIBRARY_PATH") or str(library_path().resolve())

    def physical_chip_count(self) -> int:
        """The processes to start."""
        return 1

    def configure_multiprocess(self, local_rank: int, local_world_size: int) -> None:
        """Makes the entries of all chips in a table of torch_xla's, before there are threads.

        It has the token that orders a chip's collectives. Threads that add to it at once, each at
        its first collective, end the process.
        """
        del local_rank, local_world_size
        for device in xla_model.get_xla_supported_devices():
            torch_xla._XLAC._set_all_reduce_token(device, None)  # noqa: SLF001

    def configure_single_process(self) -> None:
        """Leaves one chip, for `debug_single_process`, unless a topology was asked for."""
        os.environ.setdefault("TPU_EMU_TOPOLOGY", _ONE_CHIP)


def register() -> None:
    """Makes torch_xla use the plugin; before its runtime starts."""
    os.environ.setdefault("PJRT_DEVICE", "TPU")
    plugins.register_plugin("TPU", Plugin())
