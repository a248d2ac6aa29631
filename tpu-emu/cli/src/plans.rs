//! The temporaries of programs where their plans hold most, beside another compiler's plan.
use crate::input::{Input, InputError};
use crate::text::{bytes, careful, counted, json, one_line};
use clap::Args;
use serde::Serialize;
use std::cmp::Reverse;
use std::path::PathBuf;
use tpu_trace::{PlannedShare, plans};

/// The temporaries of each program where its plan holds most, and the real compiler's beside them.
#[derive(Debug, Args)]
pub(crate) struct Plans {
    /// A trace that TPU_EMU_TRACE=FILE wrote.
    file: PathBuf,
    /// Programs of this name alone, as jit_step. Without it, all of them, the largest first.
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// How many programs are shown, and how many lines of each.
    #[arg(long, default_value_t = 10, value_name = "LINES")]
    top: usize,
    /// Prints the plans as JSON, for programs.
    #[arg(long)]
    json: bool,
}

/// The answer for programs.
#[derive(Debug, Serialize)]
struct Answer {
    file: String,
    /// Why the trace may say less than its process did.
    cut: Vec<String>,
    /// Programs of the trace that were asked for.
    programs: usize,
    plans: Vec<tpu_trace::Plans>,
}

impl Plans {
    /// The plans, as text or JSON.
    pub(crate) fn answer(&self) -> Result<String, InputError> {
        let input = Input::open(&self.file)?;
        let is_asked = |name: &str| self.program.as_ref().is_none_or(|asked| asked == name);
        let asked = input.trace.programs.iter().filter(|program| is_asked(&program.name));
        let mut found: Vec<tpu_trace::Plans> = asked.map(plans).collect();
        found.sort_by_key(|plan| Reverse((plan.own.max(plan.other), Reverse(plan.number))));
        let programs = found.len();
        found.truncate(self.top);
        let answer = Answer { file: input.name.clone(), cut: input.cut(), programs, plans: found };
        Ok(if self.json { json(&answer) } else { self.text(&answer) })
    }

    fn text(&self, answer: &Answer) -> String {
        let mut text = careful(&answer.cut);
        if answer.programs == 0 {
            text += match &self.program {
                Some(_) => "No program of this name was run.\n",
                None => "No program was run.\n",
            };
        }
        let has_any = |plan: &&tpu_trace::Plans| !plan.rows.is_empty();
        for plan in answer.plans.iter().filter(has_any) {
            text += &format!("{}: values of at most {}", one_line(&plan.program), bytes(plan.own));
            let has_other = !plan.planner.is_empty();
            if has_other {
                let (most, by) = (bytes(plan.other), one_line(&plan.planner));
                text += &format!(" by tpu-emu, of {most} by {by}");
            }
            text += &format!("; a run is charged {}\n", bytes(plan.charged));
            if has_other {
                let by = one_line(&plan.planner);
                text += &format!("  {:>20}  {by:>20}\n", "tpu-emu");
            }
            for row in plan.rows.iter().take(self.top) {
                text += &format!("  {:>20}", share(&row.own));
                if has_other {
                    text += &format!("  {:>20}", share(&row.other));
                }
                let made = if row.own.values > 0 { &row.own } else { &row.other };
                let place = match &*row.line {
                    "" => format!("({})", made.operations.join(", ")),
                    line => line.to_owned(),
                };
                text += &format!("  {}  {}\n", one_line(&row.array), one_line(&place));
            }
            let left = plan.rows.len().saturating_sub(self.top) as u64;
            if left > 0 {
                text += &format!("  and {} (--top)\n", counted(left, "line"));
            }
        }
        let empty = answer.plans.iter().filter(|plan| plan.rows.is_empty()).count() as u64;
        if empty > 0 {
            text += &format!("{} without temporaries\n", counted(empty, "program"));
        }
        let left = (answer.programs - answer.plans.len()) as u64;
        if left > 0 {
            text += &format!("and {} with less (--top)\n", counted(left, "program"));
        }
        text
    }
}

/// How many values, and how large they are together.
fn share(of: &PlannedShare) -> String {
    match of.values {
        0 => "-".to_owned(),
        1 => bytes(of.bytes),
        values => format!("{values} with {}", bytes(of.bytes)),
    }
}
