//! What would make a program fit that needs more memory than a device has.
use super::emulator::Emulator;
use crate::executable::{CompileOptions, Donation, Executable, Format};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use tpu_base::error::{Code, Error, short};
use tpu_base::units::Bytes;
use tpu_program::sharding::io_shardings::IoSharding;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Element, Function};
use tpu_topology::GENERATIONS;

/// More than any device has.
const ENDLESS: Bytes = Bytes(u64::MAX);

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
        let needed = endless.memory.total();
        let mut text = format!("{message}\nWhat would make it fit, each checked by compiling it:");
        let fits = |donations: &[(usize, usize)]| {
            let module = with_donations(&refused.module, donations);
            module.is_some_and(|module| compiled(self.memory_limit(), &module).is_ok())
        };
        let all = donations(&endless);
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
            // Writing to a string cannot fail.
            let _ = write!(text, "\n    donated (donate_argnums): {}", names.join(", "));
        }
        let own = self.topology().generation();
        let larger = GENERATIONS
            .iter()
            .filter(|row| row.tiles == own.tiles && row.hbm.saturating_sub(row.reserved) >= needed)
            .min_by_key(|row| row.hbm.saturating_sub(row.reserved));
        if let Some(row) = larger {
            let left = short(row.hbm.saturating_sub(row.reserved));
            let _ = write!(
                text,
                "\n    a larger chip: {}, which leaves {left} to programs",
                row.family
            );
        }
        let _ = write!(text, "\n    {} bytes of HBM on each device", needed.0);
        Error::Verbatim { code: Code::ResourceExhausted, message: text.into() }
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
