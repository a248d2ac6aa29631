//! Compiling and launching programs on a machine.
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::machine::Emulator;
use crate::program::{CompileOptions, Executable, Format};
use std::sync::Arc;

/// How one run is to be done.
#[derive(Debug, Clone, Default)]
pub struct LaunchOptions {
    /// Numbers of parameters that are not to be donated though the program says so.
    pub not_donated: Vec<usize>,
}

/// A run that was started.
#[derive(Debug)]
pub struct Launched {
    /// The results; they become ready.
    pub results: Vec<Buffer>,
    /// Ends when the run has ended, with its error if it failed.
    pub done: Event,
}

impl Emulator {
    /// Compiles a program.
    ///
    /// # Errors
    /// `Program` with every reason at once; `OutOfMemory` in the compiler's words where the
    /// program can never fit.
    pub fn compile(
        self: &Arc<Self>,
        format: Format,
        code: &[u8],
        options: CompileOptions,
    ) -> Result<Arc<Executable>> {
        let _ = (format, code, options);
        Err(Error::Unimplemented("compile".to_owned()))
    }

    /// Starts a program on one device. Returns at once; errors of the run arrive through the
    /// results' events.
    ///
    /// # Errors
    /// `BadArgument` for arguments of another number, shape, type, device or memory than the
    /// parameters, and for deleted ones; `OutOfMemory` for the results.
    pub fn launch(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        device: usize,
        arguments: &[Arc<Buffer>],
        options: &LaunchOptions,
    ) -> Result<Launched> {
        let _ = (executable, device, arguments, options);
        Err(Error::Unimplemented("launch".to_owned()))
    }
}
