//! Compiling programs for the devices of a machine.
use super::custom_call::Linking;
use super::emulator::Emulator;
use super::loaded::LoadedExecutable;
use super::refused_program::{ENDLESS, RefusedProgram};
use crate::executable::compile::{CompileTarget, compile};
use crate::executable::too_large_for;
use crate::executable::{CompileOptions, Executable, Format, OtherCompiler};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::units::Bytes;
use tpu_program::interpret::region::make_body;
use tpu_program::sharding::io_shardings::IoSharding;
use tpu_stablehlo::Module;

impl Emulator {
    /// Compiles a program in MLIR, as bytecode or text.
    ///
    /// # Errors
    /// `BadArgument` for what cannot be read; `Program` with every reason at once; in the
    /// compiler's words where the program can never fit.
    pub fn compile(
        self: &Arc<Self>,
        format: Format,
        code: &[u8],
        options: CompileOptions,
    ) -> Result<Arc<LoadedExecutable>> {
        self.compile_beside(format, code, options, None)
    }

    /// Compiles a program in MLIR beside another compiler, whose plan stands for the own one.
    ///
    /// # Errors
    /// As for [`Emulator::compile`], and in the other compiler's words where it refuses.
    pub fn compile_beside(
        self: &Arc<Self>,
        format: Format,
        code: &[u8],
        options: CompileOptions,
        other: Option<&dyn OtherCompiler>,
    ) -> Result<Arc<LoadedExecutable>> {
        if format != Format::Mlir {
            return Err(Error::Unimplemented("programs as HLO protos".to_owned()));
        }
        let unreadable = |error: tpu_stablehlo::ReadError| {
            Error::bad(format!("the program cannot be read: {error}"))
        };
        let module = if tpu_stablehlo::bytecode::is_bytecode(code) {
            tpu_stablehlo::bytecode::read(code).map_err(unreadable)?
        } else {
            let text = std::str::from_utf8(code).map_err(|error| {
                Error::bad(format!("the program is neither MLIR bytecode nor text: {error}"))
            })?;
            tpu_stablehlo::text::parse(text).map_err(unreadable)?
        };
        self.compile_module_beside(module, (format, code.into()), options, other)
    }

    /// Compiles a module that was read from `source`.
    ///
    /// # Errors
    /// As for [`Emulator::compile`], reading apart.
    pub fn compile_module(
        self: &Arc<Self>,
        module: Module,
        source: (Format, Arc<[u8]>),
        options: CompileOptions,
    ) -> Result<Arc<LoadedExecutable>> {
        self.compile_module_beside(module, source, options, None)
    }

    /// Compiles a module beside another compiler, whose plan stands for the own one.
    ///
    /// # Errors
    /// As for [`Emulator::compile_beside`], reading apart.
    pub fn compile_module_beside(
        self: &Arc<Self>,
        module: Module,
        source: (Format, Arc<[u8]>),
        options: CompileOptions,
        other: Option<&dyn OtherCompiler>,
    ) -> Result<Arc<LoadedExecutable>> {
        self.compile_for(Arc::new(module), source, options, None, other)
    }

    /// Compiles a module for the one replica `only`, where there is one.
    pub(super) fn compile_for(
        self: &Arc<Self>,
        module: Arc<Module>,
        source: (Format, Arc<[u8]>),
        options: CompileOptions,
        only: Option<usize>,
        other: Option<&dyn OtherCompiler>,
    ) -> Result<Arc<LoadedExecutable>> {
        let (replicas, partitions) = (options.replicas.max(1), options.partitions.max(1));
        let count = replicas.saturating_mul(partitions);
        if replicas > 1 && partitions > 1 {
            let message = format!("programs over {replicas} replicas × {partitions} partitions");
            return Err(Error::Unimplemented(message));
        }
        let devices = self.assigned(&options, count)?;
        self.compiled(module, source, options, (devices, only), &BTreeMap::new(), other)
    }

    /// Compiles a module for these devices, or for one replica of them; of the parameters in
    /// `own_copies` every device reads its own copy.
    pub(super) fn compiled(
        self: &Arc<Self>,
        module: Arc<Module>,
        source: (Format, Arc<[u8]>),
        options: CompileOptions,
        devices: (Vec<usize>, Option<usize>),
        own_copies: &BTreeMap<usize, IoSharding>,
        other: Option<&dyn OtherCompiler>,
    ) -> Result<Arc<LoadedExecutable>> {
        let limit = self.memory_limit();
        let within = |limit| {
            let (module, source) = (module.clone(), source.clone());
            self.made_within(limit, module, source, options.clone(), devices.clone(), own_copies)
        };
        let made = match other {
            None => within(limit),
            Some(other) => {
                let name = module.name.clone().unwrap_or_else(|| "module".into());
                // Whether it fits, the other one says.
                let made = within(ENDLESS);
                let words = made.as_ref().err().map(ToString::to_string);
                let here = words.as_deref().map_or(Ok(()), Err);
                match (made, other.plan(&name, here)?) {
                    (Ok(mut made), Some(plan)) => {
                        // What it leaves of a whole chip, it has compared with already.
                        let is_less = limit < self.topology().aot_memory_limit();
                        if is_less && plan.memory.total() > limit {
                            return Err(too_large_for(&name, &plan, limit));
                        }
                        made.stand_by(plan, self.specs())?;
                        Ok(made)
                    }
                    (Ok(made), None) if made.memory.total() > limit => within(limit),
                    (made, _) => made,
                }
            }
        };
        made.map(|made| Arc::new(LoadedExecutable::new(made))).map_err(|error| {
            let refused = RefusedProgram { module, source, options, devices, own_copies };
            self.explained_program(error, &refused)
        })
    }

    /// Compiles for devices with so many bytes of HBM.
    pub(super) fn compiled_within(
        self: &Arc<Self>,
        limit: Bytes,
        module: Arc<Module>,
        source: (Format, Arc<[u8]>),
        options: CompileOptions,
        devices: (Vec<usize>, Option<usize>),
        own_copies: &BTreeMap<usize, IoSharding>,
    ) -> Result<Arc<LoadedExecutable>> {
        let made = self.made_within(limit, module, source, options, devices, own_copies)?;
        Ok(Arc::new(LoadedExecutable::new(made)))
    }

    fn made_within(
        self: &Arc<Self>,
        limit: Bytes,
        module: Arc<Module>,
        source: (Format, Arc<[u8]>),
        options: CompileOptions,
        devices: (Vec<usize>, Option<usize>),
        own_copies: &BTreeMap<usize, IoSharding>,
    ) -> Result<Executable> {
        let program = module.name.clone().unwrap_or_else(|| "module".into());
        let kernels = RefCell::default();
        let target = CompileTarget {
            specs: self.specs(),
            limit,
            labels: self.ledger().labels(),
            generation: self.topology().generation(),
            numerics: self.numerics(),
            custom_calls: &Linking { machine: self, program: &program, kernels: &kernels },
            kernels: &kernels,
            make_body,
        };
        compile(&target, module, source, options, devices, own_copies)
    }

    /// Indices of the devices of an assignment.
    fn assigned(&self, options: &CompileOptions, count: usize) -> Result<Vec<usize>> {
        let devices = self.topology().devices();
        let given = if options.devices.is_empty() { devices.len() } else { options.devices.len() };
        if given < count || (count > 1 && !options.devices.is_empty() && given != count) {
            let message = format!("a program over {count} devices for {given}");
            return Err(Error::bad(message));
        }
        if options.devices.is_empty() {
            return Ok((0..count).collect());
        }
        self.devices_with_ids(&options.devices)
    }

    /// Indices of the devices with these ids.
    ///
    /// # Errors
    /// `BadArgument` for an id that no device has.
    pub fn devices_with_ids(&self, ids: &[i64]) -> Result<Vec<usize>> {
        let devices = self.topology().devices();
        let index = |&id: &i64| {
            let found = devices.iter().position(|device| i64::from(device.id) == id);
            found.ok_or_else(|| Error::bad(format!("no device has the id {id}")))
        };
        ids.iter().map(index).collect()
    }
}
