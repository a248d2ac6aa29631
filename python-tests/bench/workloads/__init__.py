"""The programs that are measured, one file a family."""

from workloads import (
    contractions,
    control,
    convolutions,
    elementwise,
    fft,
    linear_algebra,
    models,
    movement,
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
}

__all__ = ["FAMILIES", "Arrays", "Workload"]
