//! Who hears of runs while they are under way.
use std::fmt::Debug;
use tpu_base::units::Nanos;

/// Hears of every run, for those who ask how busy devices are.
pub trait LaunchWatch: Debug + Send + Sync {
    /// A run was asked for on some devices.
    fn asked(&self, devices: &[usize]);
    /// The first step of a run runs now.
    fn began(&self, devices: &[usize], now: Nanos);
    /// A run has ended; `began` is nothing where no step ran.
    fn ended(&self, devices: &[usize], began: Option<Nanos>, now: Nanos);
}
