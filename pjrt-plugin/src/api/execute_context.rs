//! Execute contexts: what a client attaches to an execution.
use crate::boundary::{Caller, handle_of, id_of};
use crate::state::{CONTEXTS, ContextEntry};
use crate::sys::{PJRT_ExecuteContext_Create_Args, PJRT_ExecuteContext_Destroy_Args};
use tpu_emu::Result;

/// An empty context.
pub(super) fn create(_: &Caller, args: &mut PJRT_ExecuteContext_Create_Args) -> Result<()> {
    args.context = handle_of(CONTEXTS.insert(ContextEntry::default()));
    Ok(())
}

/// Ends a context's life.
pub(super) fn destroy(_: &Caller, args: &mut PJRT_ExecuteContext_Destroy_Args) -> Result<()> {
    CONTEXTS.remove(id_of(args.context, "execute context")?).map(drop)
}
