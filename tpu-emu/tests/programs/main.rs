//! Programs as text, compiled and launched: the values that come back.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod control;
mod copies;
mod custom_call;
mod donation;
mod elementwise;
mod groups;
mod in_parts;
mod machine;
mod order;
mod partitioned;
mod refused;
mod replicas;
mod results;
mod sharded;
mod transfers;
