//! One program for many devices: shardings, manual regions, collectives and their groups.
pub mod alone;
mod collective;
mod control;
mod copies;
mod derived;
pub mod groups;
pub mod io_shardings;
mod manual;
mod markers;
mod own;
mod participants;
mod propagate;
mod replicas;
pub(crate) mod sharding;
mod wanted;
