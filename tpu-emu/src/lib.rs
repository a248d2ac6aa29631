//! The machine: topology, HBM, ledger and trace of an emulated TPU.
pub mod error;
pub mod hbm;
pub mod origin;
pub mod tensor;
pub mod topology;
pub mod units;
