//! What the variables of TPU users say, each read by itself.
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use tpu_emu::topology::Bounds;

/// One variable of TPU users that this library honours.
#[derive(Debug, Clone, Copy)]
pub struct TpuVariable {
    /// The name of the variable, and an older one of the same if there is one.
    pub names: &'static [&'static str],
    /// What it takes.
    pub values: &'static str,
    /// What it does.
    pub effect: &'static str,
}

const VISIBLE: &[&str] = &["TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES"];
const CHIPS: &[&str] = &["TPU_CHIPS_PER_PROCESS_BOUNDS", "TPU_CHIPS_PER_HOST_BOUNDS"];
const GRID: &[&str] = &["TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS"];
const ADDRESSES: &[&str] = &["TPU_PROCESS_ADDRESSES"];
const PORT: &[&str] = &["TPU_PROCESS_PORT"];
const TASK: &[&str] = &["CLOUD_TPU_TASK_ID"];
const WORKER: &[&str] = &["TPU_WORKER_ID"];
const HOSTNAMES: &[&str] = &["TPU_WORKER_HOSTNAMES"];
const ACCELERATOR: &[&str] = &["TPU_ACCELERATOR_TYPE"];
const TOPOLOGY: &[&str] = &["TPU_TOPOLOGY"];
const SLICES: &[&str] = &["MEGASCALE_NUM_SLICES"];
const SLICE: &[&str] = &["MEGASCALE_SLICE_ID"];
const COORDINATOR: &[&str] = &["MEGASCALE_COORDINATOR_ADDRESS"];

/// All of them, in the order of the page.
pub const TPU_VARIABLES: &[TpuVariable] = &[
    TpuVariable {
        names: VISIBLE,
        values: "numbers of chips, as `0,1`",
        effect: "The chips of its host that this process has. Alone, they must be a box of chips, \
                 and are numbered from 0; with bounds, as many as the bounds say.",
    },
    TpuVariable {
        names: CHIPS,
        values: "three numbers, as `2,2,1`",
        effect: "The chips of each process along each axis.",
    },
    TpuVariable {
        names: GRID,
        values: "three numbers, as `2,2,1`",
        effect: "The processes of a slice along each axis. Several need a number for each: \
                 `CLOUD_TPU_TASK_ID`, `TPU_WORKER_ID` or `TPU_EMU_PROCESS_INDEX`.",
    },
    TpuVariable {
        names: ADDRESSES,
        values: "addresses, as `localhost:8476,localhost:8477`",
        effect: "Where the processes of a slice are, in the order of their numbers; so also how \
                 many there are.",
    },
    TpuVariable {
        names: PORT,
        values: "a port",
        effect: "The port of this process. It must be the one that `TPU_PROCESS_ADDRESSES` has.",
    },
    TpuVariable {
        names: TASK,
        values: "a number from 0",
        effect: "Which process of its slice this one is. It counts before `TPU_WORKER_ID`.",
    },
    TpuVariable {
        names: WORKER,
        values: "a number from 0",
        effect: "Which host of its slice this process plays.",
    },
    TpuVariable {
        names: HOSTNAMES,
        values: "names, as `host-0,host-1`",
        effect: "The hosts of a slice, in the order of their numbers; so also how many there are, \
                 where `TPU_PROCESS_BOUNDS` and `TPU_PROCESS_ADDRESSES` do not say.",
    },
    TpuVariable {
        names: ACCELERATOR,
        values: "a family and a number, as `v5litepod-16` or `v5p-256`",
        effect: "The slice, where `TPU_EMU_TOPOLOGY` does not say. The number counts chips for \
                 v5e and v6e, TensorCores for the others: `v5p-256` has 128 chips.",
    },
    TpuVariable {
        names: TOPOLOGY,
        values: "chips along the axes, as `4x4` or `4x4x8`",
        effect: "The shape of the slice of `TPU_ACCELERATOR_TYPE`; alone, of v5e.",
    },
    TpuVariable {
        names: SLICES,
        values: "a number from 1",
        effect: "How many slices there are, where `TPU_EMU_TOPOLOGY` has one.",
    },
    TpuVariable {
        names: SLICE,
        values: "a number from 0",
        effect: "The slice of this process. It says that the others have processes of their own.",
    },
    TpuVariable {
        names: COORDINATOR,
        values: "an address",
        effect: "Where the first process of all slices is.",
    },
];

/// Values by names, those of [`TPU_VARIABLES`] only; what is empty is not there, but for the
/// chips: none is not all.
pub(in crate::env) type Given = BTreeMap<String, String>;

/// Whether a variable is one of these, and has a value.
pub(in crate::env) fn is_given(name: &str, value: &str) -> bool {
    let ours = TPU_VARIABLES.iter().any(|variable| variable.names.contains(&name));
    ours && (!value.trim().is_empty() || VISIBLE.contains(&name))
}

/// A value with the name that it was given by, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said<T> {
    pub(super) value: T,
    pub(super) name: &'static str,
    pub(super) text: String,
}

impl<T> Said<T> {
    /// What is wrong with it.
    pub(super) fn wrong(&self, why: impl Display) -> String {
        format!("{self}: {why}")
    }
}

impl<T> Display for Said<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}={}", self.name, self.text)
    }
}

/// What all of them say.
#[derive(Debug, Default)]
pub(super) struct Variables {
    pub(super) visible: Option<Said<Vec<i32>>>,
    pub(super) chips: Option<Said<Bounds>>,
    pub(super) grid: Option<Said<Bounds>>,
    pub(super) addresses: Option<Said<Vec<String>>>,
    pub(super) port: Option<Said<u16>>,
    pub(super) task: Option<Said<i32>>,
    pub(super) worker: Option<Said<i32>>,
    pub(super) hostnames: Option<Said<Vec<String>>>,
    pub(super) accelerator: Option<Said<String>>,
    pub(super) topology: Option<Said<String>>,
    pub(super) slices: Option<Said<i32>>,
    pub(super) slice: Option<Said<i32>>,
    pub(super) coordinator: Option<Said<String>>,
}

impl Variables {
    /// Errors: every variable that cannot be read, with what it takes, a line each.
    pub(super) fn read(given: &Given) -> Result<Self, String> {
        let mut wrong = Vec::new();
        let number = "a number from 0";
        let text = |text: &str| Some(text.to_owned());
        let variables = Self {
            visible: said(given, &mut wrong, VISIBLE, "different chips, as 0,1", chips),
            chips: said(given, &mut wrong, CHIPS, BOUNDS, bounds),
            grid: said(given, &mut wrong, GRID, BOUNDS, bounds),
            addresses: said(given, &mut wrong, ADDRESSES, "different addresses", addresses),
            port: said(given, &mut wrong, PORT, "a port from 1 to 65535", |text| {
                text.parse().ok().filter(|&port| port > 0)
            }),
            task: said(given, &mut wrong, TASK, number, from_0),
            worker: said(given, &mut wrong, WORKER, number, from_0),
            hostnames: said(given, &mut wrong, HOSTNAMES, "names of hosts", names),
            accelerator: said(given, &mut wrong, ACCELERATOR, "a type", text),
            topology: said(given, &mut wrong, TOPOLOGY, "a shape", text),
            slices: said(given, &mut wrong, SLICES, "a number from 1", |text| {
                from_0(text).filter(|&slices| slices > 0)
            }),
            slice: said(given, &mut wrong, SLICE, number, from_0),
            coordinator: said(given, &mut wrong, COORDINATOR, "an address", text),
        };
        if wrong.is_empty() { Ok(variables) } else { Err(wrong.join("\n")) }
    }
}

const BOUNDS: &str = "wanted are three numbers from 1, as 2,2,1";

/// The value of the first name that has one.
fn said<T>(
    given: &Given,
    wrong: &mut Vec<String>,
    names: &[&'static str],
    wanted: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Option<Said<T>> {
    let (&name, text) = names.iter().find_map(|name| Some((name, given.get(*name)?)))?;
    let value = read(text.trim());
    if value.is_none() {
        let wanted = wanted.strip_prefix("wanted are ").unwrap_or(wanted);
        wrong.push(format!("{name}={text}: wanted: {wanted}"));
    }
    Some(Said { value: value?, name, text: text.clone() })
}

/// The parts between commas, each read.
fn list<T: FromStr>(text: &str) -> Option<Vec<T>> {
    text.split(',').map(|part| part.trim().parse().ok()).collect()
}

fn from_0(text: &str) -> Option<i32> {
    text.parse().ok().filter(|&number| number >= 0)
}

fn bounds(text: &str) -> Option<Bounds> {
    let sides: Bounds = list(text)?.try_into().ok()?;
    sides.iter().all(|&side| side > 0).then_some(sides)
}

fn chips(text: &str) -> Option<Vec<i32>> {
    let chips: Vec<i32> = list(text)?;
    let different = (1..chips.len()).all(|place| !chips[..place].contains(&chips[place]));
    (different && chips.iter().all(|&chip| chip >= 0)).then_some(chips)
}

fn names(text: &str) -> Option<Vec<String>> {
    let names: Vec<String> = list(text)?;
    let fits = |name: &String| !name.is_empty() && !name.contains(char::is_whitespace);
    names.iter().all(fits).then_some(names)
}

/// Names as of hosts; what has a port is there once.
fn addresses(text: &str) -> Option<Vec<String>> {
    let addresses = names(text)?;
    let again = |place: usize| {
        addresses[place].contains(':') && addresses[..place].contains(&addresses[place])
    };
    (!(1..addresses.len()).any(again)).then_some(addresses)
}
