//! Names of metrics, as `tpu-info` 0.14.2 asks for them.

/// Bytes of HBM of each device.
pub const HBM_TOTAL: &str = "tpu.runtime.hbm.memory.total.bytes";
/// Bytes of HBM that are taken on each device.
pub const HBM_USAGE: &str = "tpu.runtime.hbm.memory.usage.bytes";
/// The share of time in which a chip works.
pub const DUTY_CYCLE: &str = "tpu.runtime.tensorcore.dutycycle.percent";
/// Seconds since a device worked.
pub(crate) const IDLE: &str = "tpu.runtime.tensorcore.idle_duration.seconds";
/// Runs that wait for a device or are on it.
pub(crate) const QUEUE: &str = "hlo.queue.size.gauge";
/// How long runs take.
pub(crate) const TIMINGS: &str = "hlo.execution.timing.distribution.microseconds";
/// The topology as `TPU_EMU_TOPOLOGY` takes it: the emulator's alone.
pub const TOPOLOGY: &str = "tpu_emu.topology";
/// The process that answers: the emulator's alone.
pub const PROCESS: &str = "tpu_emu.process";

/// All of them, with what they say.
pub(crate) const ALL: [(&str, &str); 8] = [
    (HBM_TOTAL, "Bytes of HBM that programs can use, by device."),
    (HBM_USAGE, "Bytes of HBM that are taken, by device."),
    (DUTY_CYCLE, "Hundredths of the last ten seconds in which programs ran."),
    (IDLE, "Seconds since a program ran, by device."),
    (QUEUE, "Runs that were asked for and have not ended, by device."),
    (TIMINGS, "Microseconds that runs took, by device."),
    (TOPOLOGY, "The emulated topology."),
    (PROCESS, "The process that emulates it."),
];
