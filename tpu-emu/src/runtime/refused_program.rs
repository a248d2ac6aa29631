//! What would make a program fit that needs more memory than a device has.
use super::emulator::Emulator;
use super::loaded::LoadedExecutable;
use crate::executable::{CompileOptions, Donation, Executable, Format};
use crate::memory::{Memory, MemoryKind};
use crate::trace::{Note, RefusedProgram as Told};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use tpu_base::error::{Code, Error, Result, short};
use tpu_base::units::{Bytes, to_u64};
use tpu_program::sharding::io_shardings::IoSharding;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Element, Function};
use tpu_topology::GENERATIONS;

/// More than any device has.
pub(super) const ENDLESS: Bytes = Bytes(u64::MAX);

/// Donations that are tried alone.
const TRIED: usize = 4;

/// A program that was refused, and how it was to be compiled.
pub(super) struct RefusedProgram<'a> {
    pub(super) module: Arc<Module>,
    pub(super) source: (Format, Arc<[u8]>),
    pub(super) options: CompileOptions,
    pub(super) devices: (Vec<usize>, Option<usize>),
    pub(super) own_copies: &'a BTreeMap<usize, IoSharding>,
}

/// Compiles a program for devices with so many bytes of HBM.
type Compiled<'c> = dyn Fn(Bytes, &Arc<Module>) -> Result<Arc<LoadedExecutable>> + 'c;

impl Emulator {
    /// The error of a program that does not fit, with what would make it fit beneath: each was
    /// tried by compiling the program so.
    pub(super) fn explained_program(
        self: &Arc<Self>,
        error: Error,
        refused: &RefusedProgram<'_>,
    ) -> Error {
        let Error::Verbatim { code: Code::ResourceExhausted, ref message } = error else {
            return error;
        };
        let compiled = |limit: Bytes, module: &Arc<Module>| {
            let RefusedProgram { source, options, devices, own_copies, .. } = refused;
            let (source, options) = (source.clone(), options.clone());
            self.compiled_within(
                limit,
                module.clone(),
                source,
                options,
                devices.clone(),
                own_copies,
            )
        };
        let Ok(endless) = compiled(ENDLESS, &refused.module) else { return error };
        let advice = self.advice(&endless, refused, &compiled);
        self.tell_refused(&endless, refused, &advice);
        let mut text = format!("{message}\nWhat would make it fit, each checked by compiling it:");
        // Writing to a string cannot fail.
        advice.iter().for_each(|words| _ = write!(text, "\n    {words}"));
        Error::Verbatim { code: Code::ResourceExhausted, message: text.into() }
    }

    /// What would make a program fit, in words.
    fn advice(
        &self,
        endless: &LoadedExecutable,
        refused: &RefusedProgram<'_>,
        compiled: &Compiled<'_>,
    ) -> Vec<String> {
        let needed = endless.memory.total();
        let mut advice = Vec::new();
        let fits = |donations: &[(usize, usize)]| {
            let module = with_donations(&refused.module, donations);
            module.is_some_and(|module| compiled(self.memory_limit(), &module).is_ok())
        };
        let all = donations(endless);
        let alone = all.iter().take(TRIED).map(std::slice::from_ref).find(|one| fits(one));
        if let Some(found) =
            alone.or_else(|| Some(&all[..]).filter(|all| all.len() > 1 && fits(all)))
        {
            let names: Vec<String> = found
                .iter()
                .map(|&(parameter, result)| {
                    let spec = &endless.parameters[parameter].spec;
                    format!("argument {parameter} ({}) for result {result}", short(spec.padded))
                })
                .collect();
            advice.push(format!("donated (donate_argnums): {}", names.join(", ")));
        }
        let own = self.topology().generation();
        let larger = GENERATIONS
            .iter()
            .filter(|row| row.tiles == own.tiles && row.hbm.saturating_sub(row.reserved) >= needed)
            .min_by_key(|row| row.hbm.saturating_sub(row.reserved));
        if let Some(row) = larger {
            let left = short(row.hbm.saturating_sub(row.reserved));
            advice.push(format!("a larger chip: {}, which leaves {left} to programs", row.family));
        }
        // What a device is given is rounded down to granules.
        let memory = Memory { device: 0, kind: MemoryKind::Device };
        let given = self.rounded(memory, needed);
        advice.push(format!("{} bytes of HBM on each device", given.0));
        advice
    }

    /// Tells those that listen of a program that does not fit, with its plan.
    // A frame of its own: recorded stacks begin above it.
    #[inline(never)]
    fn tell_refused(
        &self,
        endless: &LoadedExecutable,
        refused: &RefusedProgram<'_>,
        advice: &[String],
    ) {
        let ledger = self.ledger();
        if !ledger.is_heard() {
            return;
        }
        let program = self.next_program();
        ledger.tell(&Note::Program(&endless.planned(program)));
        let plan = endless.own.as_ref().map_or(&endless.plan, |own| &own.plan);
        let largest = plan.largest.first().map(|&(.., at)| at);
        let at = largest.or_else(|| plan.steps.last().map(|step| step.location));
        let lines = at.map(|at| endless.module.locations.stack(at));
        let line = lines.as_ref().and_then(|lines| lines.last());
        let (devices, only) = &refused.devices;
        let own = only.and_then(|only| devices.get(only..=only)).unwrap_or(devices);
        ledger.tell(&Note::RefusedProgram(&Told {
            program,
            origin: ledger.origin(),
            available: self.memory_limit(),
            line: line.map_or_else(String::new, |at| format!("{}:{}", at.file, at.line)),
            devices: own.iter().map(|&device| to_u64(device)).collect(),
            advice: advice.to_vec(),
        }));
    }
}

/// Parameters that could be given up for results of the same type, the largest first.
fn donations(executable: &Executable) -> Vec<(usize, usize)> {
    let taken = |result: usize| executable.results[result].alias.is_some();
    let mut open: Vec<usize> =
        (0..executable.results.len()).filter(|&result| !taken(result)).collect();
    let mut found = Vec::new();
    for (parameter, of) in executable.parameters.iter().enumerate() {
        let is_same = |&result: &usize| {
            let result = &executable.results[result];
            (&result.spec, result.kind) == (&of.spec, of.kind)
        };
        let is_kept = matches!(of.donation, Donation::Kept);
        if let Some(at) = open.iter().position(is_same).filter(|_| is_kept) {
            found.push((parameter, open.remove(at)));
        }
    }
    found.sort_by_key(|&(parameter, _)| {
        std::cmp::Reverse(executable.parameters[parameter].spec.padded)
    });
    found
}

/// A program in which parameters are given up for results.
pub(super) fn with_donations(module: &Module, donations: &[(usize, usize)]) -> Option<Arc<Module>> {
    let mut module = module.clone();
    let name = Arc::clone(&module.entry()?.name);
    let is_entry = |function: &&mut Function| function.name == name;
    let entry = module.functions.iter_mut().find(is_entry)?;
    for &(parameter, result) in donations {
        let result = Attribute::Integer(i128::try_from(result).ok()?, Element::S32);
        entry.arguments.get_mut(parameter)?.set("tf.aliasing_output", result);
    }
    Some(Arc::new(module))
}
