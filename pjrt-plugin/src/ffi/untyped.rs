//! A function of the older, untyped interface as a target of the machine, called as XLA's CPU
//! backend calls it.
// UNSAFETY: calls a C function by its address.
#![expect(unsafe_code, reason = "a C function by its address")]
use super::status::Status;
use std::any::Any;
use std::ffi::{c_char, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::Arc;
use tpu_emu::custom_call::{Abi, Backend, Call, CallSite, Moment, Place, Progress, Stage, Target};
use tpu_emu::tensor::{DType, Shape};
use tpu_emu::{Error, Result};

type Original = unsafe extern "C" fn(*mut c_void, *const *const c_void);
type WithStatus = unsafe extern "C" fn(*mut c_void, *const *const c_void, *mut c_void);
type Unified =
    unsafe extern "C" fn(*mut c_void, *const *const c_void, *const c_char, usize, *mut c_void);

/// A function, by its address; the program says which interface it has.
#[derive(Debug)]
pub(super) struct UntypedTarget(pub(super) usize);

impl Target for UntypedTarget {
    fn instantiate(&self, site: Arc<CallSite>) -> Result<Arc<dyn Call>> {
        let Backend::Opaque(text) = &site.backend else {
            return Err(Error::bad("an untyped function takes no attributes"));
        };
        let opaque: Box<[u8]> = text.iter().copied().chain([0]).collect();
        Ok(Arc::new(UntypedCall { function: self.0, opaque, site }))
    }
}

#[derive(Debug)]
struct UntypedCall {
    function: usize,
    /// Ends with a NUL that is not counted.
    opaque: Box<[u8]>,
    site: Arc<CallSite>,
}

impl Call for UntypedCall {
    fn site(&self) -> &Arc<CallSite> {
        &self.site
    }

    fn has(&self, stage: Stage) -> bool {
        stage == Stage::Execute
    }

    fn begin(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::new(())
    }

    fn run(&self, stage: Stage, moment: &Moment<'_>) -> Result<Progress> {
        if stage != Stage::Execute {
            return Ok(Progress::Done);
        }
        let operands: Vec<*const c_void> = addresses(&self.site.operands, moment.operands)
            .map(<*mut c_void>::cast_const)
            .collect();
        let mut results: Vec<*mut c_void> = addresses(&self.site.results, moment.results).collect();
        let out = match results[..] {
            [result] if !self.site.tuple => result,
            _ => results.as_mut_ptr().cast(),
        };
        let mut status = Status::new();
        self.call(out, operands.as_ptr(), &raw mut status)?;
        status.take().map(|()| Progress::Done)
    }
}

impl UntypedCall {
    fn call(
        &self,
        out: *mut c_void,
        operands: *const *const c_void,
        status: *mut Status,
    ) -> Result<()> {
        let function = ptr::with_exposed_provenance::<()>(self.function);
        // SAFETY: whoever registered the address, not null, says that a function is there; the
        // program says of which interface. The pointers are valid for the call.
        unsafe {
            match self.site.abi {
                Abi::Original => transmute::<*const (), Original>(function)(out, operands),
                Abi::Status => {
                    transmute::<*const (), WithStatus>(function)(out, operands, status.cast());
                }
                Abi::StatusUnified => {
                    let (opaque, size) = (self.opaque.as_ptr().cast(), self.opaque.len() - 1);
                    let function = transmute::<*const (), Unified>(function);
                    function(out, operands, opaque, size, status.cast());
                }
                Abi::Typed => return Err(Error::bad("a typed call of an untyped function")),
            }
        }
        Ok(())
    }
}

/// Where arrays are; a token is nowhere.
fn addresses<'a>(
    shapes: &'a [Shape],
    places: &'a [Place],
) -> impl Iterator<Item = *mut c_void> + 'a {
    shapes.iter().zip(places).map(|(shape, place)| match shape.dtype {
        DType::Token => ptr::null_mut(),
        _ => ptr::with_exposed_provenance_mut(place.address),
    })
}
