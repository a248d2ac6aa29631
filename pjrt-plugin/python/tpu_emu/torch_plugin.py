"""The emulated TPU as a device plugin of torch_xla: one process that has all chips.

`torch_xla` asks a plugin how many processes it is to start. Its own plugin for TPUs counts the
chips on the PCI bus, of which an emulated TPU has none; this one asks for one process, in which
`torch_xla.launch` runs a thread for each chip.
"""

from torch_xla.experimental import plugins

from tpu_emu.library import library_path


class TpuEmuPlugin(plugins.DevicePlugin):
    """A plugin for `PJRT_DEVICE=TPU`."""

    def library_path(self) -> str:
        """The file of the library."""
        return str(library_path())

    def physical_chip_count(self) -> int:
        """Processes that `torch_xla.launch` starts."""
        return 1

    def configure_single_process(self) -> None:
        """There is nothing to choose: a process has all chips."""

    def configure_multiprocess(self, local_rank: int, local_world_size: int) -> None:
        """As above."""


def register() -> None:
    """Puts the plugin into the place of torch_xla's own for TPUs.

    To be called where a program begins, before it asks for a device, and outside of what it does
    as `__main__` alone: the process that `torch_xla.launch` starts imports the program anew.
    """
    plugins.register_plugin("TPU", TpuEmuPlugin())
