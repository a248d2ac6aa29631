"""Devices as people name them."""

from typing import Protocol, TypeAlias


class HasId(Protocol):
    """What `jax.devices()` has."""

    @property
    def id(self) -> int:
        """The number of the device."""
        ...


Device: TypeAlias = int | HasId
"""A device by its id, or as JAX has it."""


def device_id(device: Device) -> int:
    """The id of a device.

    Raises:
        TypeError: for what is neither a number nor a device of JAX.
        ValueError: for a device of another platform.
    """
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    number = getattr(device, "id", None)
    if not isinstance(number, int):
        raise TypeError(f"{device!r} is no device: its id is one, or what jax.devices() has")
    if getattr(device, "platform", "tpu") != "tpu":
        raise ValueError(f"{device!r} is no TPU, and has no emulated memory")
    return number
