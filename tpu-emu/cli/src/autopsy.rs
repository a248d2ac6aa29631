//! Why allocations found no room, and what would make them fit.
use crate::input::{Input, InputError};
use crate::text::{careful, counted, json, seconds};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use tpu_trace::{ProgramAutopsy, autopsy, refused_programs};

/// Why an allocation found no room, who held the memory, and what would make it fit.
#[derive(Debug, Args)]
pub(crate) struct Autopsy {
    /// A trace that TPU_EMU_TRACE=FILE wrote.
    file: PathBuf,
    /// Which refusal, from 1; the first where nothing is said.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    refusal: u32,
    /// Prints it as JSON, for programs.
    #[arg(long)]
    json: bool,
}

/// The answer for programs.
#[derive(Debug, Serialize)]
struct Answer {
    file: String,
    /// Why the trace may say less than its process did.
    cut: Vec<String>,
    /// How many refusals the trace has.
    refusals: usize,
    /// `null` where it has none.
    autopsy: Option<tpu_trace::Autopsy>,
    /// Programs that were refused when they were compiled.
    programs: Vec<ProgramAutopsy>,
}

impl Autopsy {
    /// The answer, as text or JSON.
    pub(crate) fn answer(&self) -> Result<String, InputError> {
        let input = Input::open(&self.file)?;
        let refusals = input.history.refusals.len();
        let number = self.refusal as usize - 1;
        if refusals > 0 && number >= refusals {
            return Err(input.asked_too_much(format!(
                "it has {}, and no refusal {}",
                counted(refusals as u64, "refusal"),
                self.refusal
            )));
        }
        let found = autopsy(&input.trace, &input.history, number);
        if refusals > 0 && found.is_none() {
            return Err(input.failed(std::io::Error::other(
                "its blocks lie on one another, so that nothing can be said of the refusal",
            )));
        }
        let (file, cut) = (input.name.clone(), input.cut());
        let programs = refused_programs(&input.trace);
        let answer = Answer { file, cut, refusals, autopsy: found, programs };
        if self.json {
            return Ok(json(&answer));
        }
        let mut text = careful(&answer.cut);
        match &answer.autopsy {
            None if answer.programs.is_empty() => text += "No allocation was refused.\n",
            None => {}
            Some(found) => {
                text += &format!(
                    "refusal {} of {} at {}\n{}",
                    self.refusal,
                    refusals,
                    seconds(found.time),
                    found.text()
                );
            }
        }
        for program in &answer.programs {
            text += &program.text();
        }
        Ok(text)
    }
}
