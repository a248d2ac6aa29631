"""The programs that are measured, one file a family."""

from workloads import (
    algorithms,
    contractions,
    control,
    convolutions,
    elementwise,
    fft,
    integers,
    linear_algebra,
    models,
    movement,
    networks,
    pieces,
    random,
    reductions,
    small,
)
from workloads.workload import Arrays, Workload

FAMILIES: dict[str, list[Workload]] = {
    "small launches": small.WORKLOADS,
    "elementwise": elementwise.WORKLOADS,
    "reductions": reductions.WORKLOADS,
    "contractions": contractions.WORKLOADS,
    "convolutions": convolutions.WORKLOADS,
    "data movement": movement.WORKLOADS,
    "random numbers": random.WORKLOADS,
    "linear algebra": linear_algebra.WORKLOADS,
    "Fourier transforms": fft.WORKLOADS,
    "control flow": control.WORKLOADS,
    "models": models.WORKLOADS,
    "networks": networks.WORKLOADS,
    "algorithms": algorithms.WORKLOADS,
    "integers and bytes": integers.WORKLOADS,
    "short pieces": pieces.WORKLOADS,
}

__all__ = ["FAMILIES", "Arrays", "Workload"]
