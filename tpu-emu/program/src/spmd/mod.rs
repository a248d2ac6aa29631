//! One program for many devices: manual regions, collectives, control flow and copies, imported.
pub mod alone;
mod collective;
mod control;
mod copies;
mod kernels;
mod manual;
mod markers;
mod own;
mod participants;
mod ragged;
mod replicas;
mod rows;
