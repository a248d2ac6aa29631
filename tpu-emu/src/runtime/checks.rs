//! What is checked of a launch before anything happens.
use crate::buffer::Buffer;
use crate::executable::Executable;
use std::sync::Arc;
use tpu_base::error::{Code, Error, Result};
use tpu_ops::host_transfer::HostTransfers;

/// Whether the client serves every channel of the program, on every device of the launch.
pub(super) fn check_channels(
    executable: &Executable,
    transfers: &[Arc<dyn HostTransfers>],
) -> Result<()> {
    let channels = &executable.plan.channels;
    let served =
        |channel| !transfers.is_empty() && transfers.iter().all(|client| client.serves(channel));
    let missing = channels.iter().filter(|(channel, _)| !served(*channel));
    let reasons: Vec<String> = missing
        .map(|&(channel, location)| {
            let line = executable.module.locations.line(location);
            let place = line.map_or_else(String::new, |line| format!("{line}: "));
            let (verb, id) = (channel.direction.verb(), channel.id);
            format!("{place}the launch has no callback for the {verb} of channel {id}")
        })
        .collect();
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Error::Program { code: Code::FailedPrecondition, reasons })
}

/// Whether the arguments are what the parameters want.
pub(super) fn check_arguments(
    executable: &Executable,
    device: usize,
    arguments: &[Arc<Buffer>],
) -> Result<()> {
    let (name, wanted, given) = (&executable.name, executable.parameters.len(), arguments.len());
    if wanted != given {
        return Err(Error::bad(format!("{name} takes {wanted} arguments; {given} were given")));
    }
    for (index, (argument, parameter)) in arguments.iter().zip(&executable.parameters).enumerate() {
        if argument.is_deleted() {
            return Err(Error::bad("Buffer has been deleted or donated."));
        }
        let (had, wanted) = (argument.spec(), &parameter.spec);
        // A token may be any buffer.
        if !parameter.token && (had.dtype != wanted.dtype || had.dims != wanted.dims) {
            let (had, wanted) = (had.text(), wanted.text());
            let message = format!("{name}: argument {index} is {had}; the parameter is {wanted}");
            return Err(Error::bad(message));
        }
        let memory = argument.memory();
        if memory.device != device {
            let message = format!(
                "{name}: argument {index} is on device {}; the program runs on device {device}",
                memory.device
            );
            return Err(Error::bad(message));
        }
        if memory.kind != parameter.kind {
            let (had, wanted) = (memory.kind.name(), parameter.kind.name());
            let message =
                format!("{name}: argument {index} is in {had}; the parameter in {wanted}");
            return Err(Error::bad(message));
        }
    }
    Ok(())
}

/// A buffer that is given up may be an argument once.
pub(super) fn check_donations(
    arguments: &[Arc<Buffer>],
    gives: &dyn Fn(usize) -> bool,
) -> Result<()> {
    for (index, argument) in arguments.iter().enumerate() {
        if !gives(index) {
            continue;
        }
        let same = |(other, buffer): (usize, &Arc<Buffer>)| {
            other != index && Arc::ptr_eq(buffer, argument)
        };
        if let Some(other) = arguments.iter().enumerate().position(same) {
            let what = if gives(other) {
                "Attempt to donate the same buffer twice in Execute()"
            } else {
                "Attempt to use a donated buffer as another argument in Execute()"
            };
            return Err(Error::bad(format!("{what}: arguments {index} and {other}")));
        }
    }
    Ok(())
}
