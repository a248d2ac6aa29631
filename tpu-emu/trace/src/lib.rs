//! Reads traces and snapshots of emulated memories, and says who held what, and when.
//!
//! [`read`] turns the bytes of `docs/trace-format.md` into a [`Trace`]: columns of events, and
//! tables of what they name. [`History`] puts the changes of each memory space into their order.
//! [`Moment`] picks a point of it, [`Holders`] says what lived there and who took it.
//!
//! ```no_run
//! use tpu_trace::{By, History, Holders, Moment, read};
//!
//! let trace = read(std::fs::File::open("run.trace")?)?;
//! let history = History::new(&trace);
//! let held = Holders::at(&trace, &history, Moment::Peak, By::Line);
//! assert_eq!(held.total.in_memory, held.rows.iter().map(|row| row.size.in_memory).sum::<u64>());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod autopsy;
mod checked;
mod chips;
mod event;
mod export;
mod face;
mod fields;
mod fit;
mod format;
mod gaps;
mod history;
mod holders;
mod input;
mod leaks;
mod lifetimes;
mod links;
mod moment;
mod numbers;
mod padding;
mod plans;
mod reader;
mod recorded;
mod records;
mod replay;
mod tables;
mod tally;
mod timeline;
pub mod words;

pub use autopsy::{
    Advice, Autopsy, Donation, ProgramAutopsy, Remedy, Temporary, autopsy, refused_programs,
};
pub use chips::granule;
pub use event::{ChangeKind, Event, Events};
pub use export::{OperationRun, Profiled, collapsed, perfetto, pprof, pytorch, speedscope, xspace};
pub use face::{Call, Face, calls};
pub use fit::{Fit, Refused, SpaceFit, Target, fit};
pub use format::{FORMAT_MAJOR, MAGIC};
pub use gaps::{Hole, Holes, Neighbour};
pub use history::{History, NO_CHANGE, SpaceHistory};
pub use holders::{By, Holders, NAMES, Row, Size, key_text, live, origin, user_frame};
pub use leaks::leaks;
pub use lifetimes::{Lifetimes, lifetimes};
pub use links::{EDITORS, Links, within_project};
pub use moment::{Moment, MomentError, MomentName};
pub use padding::{Instead, Padded, padding};
pub use plans::{PlannedRow, PlannedShare, Plans, plans};
pub use reader::{Follower, ReadError, read};
pub use recorded::{
    Calls, ClientEnd, Launch, LaunchArgument, Mark, Places, Program, RefusalHoles, RefusedProgram,
    SingleCall, Slot,
};
pub use replay::{Memory, NoRoom, Replay};
pub use tables::{
    Argument, ArraySpec, Dispatch, Fault, FramePart, Header, Loss, Space, Stacks, Trace, Usage,
};
pub use timeline::{Point, reduced, steps};
