//! Whether what a trace did finds room on other devices, and how much memory it needs.
use crate::input::{Input, InputError};
use crate::text::{bytes, careful, grouped, json, one_line, seconds};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use tpu_topology::hbm_size;
use tpu_trace::{Target, fit};

/// Makes the changes of a trace on other devices: whether all finds room, and the least memory.
///
/// The exit code is 3 where not all of it does.
#[derive(Debug, Args)]
pub(crate) struct Fit {
    /// A trace that TPU_EMU_TRACE=FILE wrote.
    file: PathBuf,
    /// Bytes that programs can use on each device, as TPU_EMU_HBM_BYTES takes them: `12GiB`.
    #[arg(long, value_name = "SIZE", required_unless_present = "topology", value_parser = hbm)]
    hbm: Option<u64>,
    /// Devices, as TPU_EMU_TOPOLOGY takes them: `v5p:2x2x1`.
    #[arg(long, conflicts_with = "hbm", value_parser = Target::of_topology)]
    topology: Option<Target>,
    /// Prints it as JSON, for programs.
    #[arg(long)]
    json: bool,
}

fn hbm(text: &str) -> Result<u64, String> {
    hbm_size(text).map(|bytes| bytes.0)
}

/// The answer for programs.
#[derive(Debug, Serialize)]
struct Answer {
    file: String,
    /// Why the trace may say less than its process did.
    cut: Vec<String>,
    #[serde(flatten)]
    fit: tpu_trace::Fit,
}

impl Fit {
    /// The answer, and whether all of it fits.
    pub(crate) fn answer(&self) -> Result<(String, bool), InputError> {
        let input = Input::open(&self.file)?;
        let size = self.hbm.map(Target::with_capacity);
        let Some(target) = self.topology.clone().or(size) else {
            return Ok((String::new(), true));
        };
        let fit = fit(&input.trace, &input.history, &target);
        let answer = Answer { file: input.name.clone(), cut: input.cut(), fit };
        let fits = answer.fit.fits;
        Ok((if self.json { json(&answer) } else { text(&answer) }, fits))
    }
}

fn text(answer: &Answer) -> String {
    let fit = &answer.fit;
    let mut text = careful(&answer.cut) + &careful(&fit.careful);
    let on = match &fit.topology {
        Some(topology) => format!("{} a device of {}", bytes(fit.capacity), one_line(topology)),
        None => format!("{} a device", bytes(fit.capacity)),
    };
    if fit.spaces.is_empty() {
        return text + "Nothing was allocated on a device.\n";
    }
    let file = one_line(&answer.file);
    text += &match fit.fits {
        true => format!("{file}: all of it fits in {on}\n"),
        false => format!("{file}: not all of it fits in {on}\n"),
    };
    for space in &fit.spaces {
        let least = match space.smallest {
            Some(least) => format!("{} ({} bytes)", bytes(least), grouped(least)),
            None => "more than 64 TiB".to_owned(),
        };
        text += &format!(
            "{}: at most {} in use in the trace; the least memory that fits is {least}\n",
            one_line(&space.space),
            bytes(space.peak),
        );
        if let Some(program) = &space.program {
            text += &format!(
                "  {} would be refused when it is compiled: it needs {} for arguments, results, \
                 temporaries, constants and instructions\n",
                one_line(&program.name),
                bytes(program.needed),
            );
        }
        if let Some(refused) = &space.refused {
            text += &format!(
                "  no room at {} for {} of {} ({}): {} in use, {} free, the largest hole {}\n",
                seconds(refused.time),
                bytes(refused.asked),
                one_line(&refused.line),
                one_line(&refused.what),
                bytes(refused.in_use),
                bytes(refused.free),
                bytes(refused.largest_hole),
            );
        }
    }
    text
}
