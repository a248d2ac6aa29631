//! What happens on the device and on threads of our own.
mod call;
mod checks;
#[cfg(test)]
mod differential;
mod dispatch;
mod flight;
mod frame;
mod given;
mod joint;
mod lane_body;
mod launch;
mod meeting;
mod parts;
mod pending;
mod queue;
mod rounds;
mod rows;
mod run;
mod sharded;
mod tiles;
mod turns;

pub use call::Context;
pub(crate) use flight::Flight;
pub(crate) use joint::Joints;
pub use launch::{LaunchOptions, Launched};
pub(crate) use meeting::Meetings;
pub use meeting::RunKey;
pub(crate) use queue::Workers;
pub(crate) use turns::Turns;
