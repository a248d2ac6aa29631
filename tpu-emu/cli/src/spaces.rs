//! Which memory spaces of a trace a command is about.
use crate::input::{Input, InputError};
use clap::Args;
use std::cmp::Reverse;
use std::path::PathBuf;
use tpu_trace::{Space, SpaceHistory};

/// A trace, and which of its spaces.
#[derive(Debug, Args)]
pub(crate) struct Chosen {
    /// A trace that TPU_EMU_TRACE=FILE wrote.
    pub(crate) file: PathBuf,
    /// The device, by its number in the trace; without it text has the fullest, JSON all memories.
    #[arg(long, value_name = "NUMBER")]
    device: Option<u64>,
    /// Prints it as JSON, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A space and what became of it.
pub(crate) type Used<'a> = (&'a Space, &'a SpaceHistory);

impl Chosen {
    /// The spaces that were used: devices first, the fullest of them first; or the chosen device.
    ///
    /// # Errors
    /// Where the device that is asked for is not in the trace, or held nothing.
    pub(crate) fn spaces<'a>(&self, input: &'a Input) -> Result<Vec<Used<'a>>, InputError> {
        let all = input.trace.spaces.iter().zip(&input.history.spaces);
        let mut used: Vec<Used<'a>> = all.filter(|(_, of)| !of.order.is_empty()).collect();
        used.sort_by_key(|(space, of)| (space.device.is_none(), Reverse(of.peak()), space.device));
        let Some(device) = self.device else { return Ok(used) };
        used.retain(|(space, _)| space.device == Some(device));
        match used.is_empty() {
            false => Ok(used),
            true => {
                Err(input.asked_too_much(format!("nothing was allocated on a device {device}")))
            }
        }
    }
}

/// What is said where a text shows the fullest space alone.
pub(crate) fn others(used: &[Used<'_>]) -> String {
    let names: Vec<String> = used
        .iter()
        .skip(1)
        .filter_map(|(space, _)| space.device)
        .map(|of| of.to_string())
        .collect();
    match names.len() {
        0 => String::new(),
        1 => format!("Another device was used: --device {}\n", names[0]),
        count => format!("{count} other devices were used: --device {} and others\n", names[0]),
    }
}
