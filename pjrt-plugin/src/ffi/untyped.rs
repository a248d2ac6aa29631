//! A function of the older, untyped interface as a target of the machine, called as XLA's CPU
//! backend calls it.
// UNSAFETY: calls a C function by its address.
#![expect(unsafe_code, reason = "a C function by its address")]
use super::error;
use super::status::Status;
use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use tpu_emu::custom_call::{
    Abi, Backend, Call, CallMemory, CallSite, Moment, Progress, Stage, Target,
};
use tpu_emu::tensor::{DType, Shape};
use tpu_emu::{Error, Result};
use tpu_host::foreign;

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

    fn begin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
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
        let (out, operands) = (out.expose_provenance(), operands.expose_provenance());
        let status = status.expose_provenance();
        let arguments = match self.site.abi {
            Abi::Original => [out, operands, 0, 0, 0],
            Abi::Status => [out, operands, status, 0, 0],
            Abi::StatusUnified => {
                let opaque = self.opaque.as_ptr().expose_provenance();
                [out, operands, opaque, self.opaque.len() - 1, status]
            }
            Abi::Typed => return Err(Error::bad("a typed call of an untyped function")),
        };
        let function = ptr::with_exposed_provenance::<()>(self.function);
        // SAFETY: whoever registered the address, not null, says that a function is there; the
        // program says of which interface. The pointers are valid for the call.
        let called = unsafe { foreign::call(function, arguments) };
        called.map(drop).map_err(|thrown| error::thrown("the function", &thrown))
    }
}

/// Where arrays are; a token is nowhere.
fn addresses<'a>(
    shapes: &'a [Shape],
    places: &'a [CallMemory],
) -> impl Iterator<Item = *mut c_void> + 'a {
    shapes.iter().zip(places).map(|(shape, place)| match shape.dtype {
        DType::Token => ptr::null_mut(),
        _ => ptr::with_exposed_provenance_mut(place.address),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::{XlaCustomCallStatusSetFailure, XlaCustomCallStatusSetSuccess};
    use std::ffi::c_char;
    use std::slice;
    use tpu_emu::custom_call::Services;

    /// Nothing that these functions could ask for.
    #[derive(Debug)]
    struct Nothing;

    impl Services for Nothing {
        fn device(&self) -> usize {
            0
        }

        fn run_id(&self) -> i64 {
            0
        }

        fn allocate(&self, _: usize, _: usize) -> Result<usize> {
            Err(Error::bad("no memory"))
        }

        fn free(&self, _: usize) -> Result<()> {
            Err(Error::bad("no memory"))
        }

        fn schedule(&self, task: Box<dyn FnOnce() + Send>) {
            task();
        }

        fn threads(&self) -> usize {
            1
        }

        fn context(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
            None
        }
    }

    /// Calls a function on the numbers 2 and 3; gives its results, which were 0.
    fn call(
        function: *const (),
        abi: Abi,
        opaque: &str,
        results: usize,
        tuple: bool,
    ) -> Result<Vec<i32>> {
        let target = UntypedTarget(function.expose_provenance());
        let one = Shape::new(DType::S32, []);
        let call = target.instantiate(Arc::new(CallSite {
            target: "f".into(),
            kernel_name: None,
            abi,
            backend: Backend::Opaque(opaque.as_bytes().into()),
            operands: vec![one.clone(); 2],
            results: vec![one; results],
            tuple,
            aliases: vec![None; results],
            partition: 0,
            line: None,
        }))?;
        let given = [2, 3];
        let mut made = vec![0; results];
        let place =
            |pointer: *const i32| CallMemory { address: pointer.expose_provenance(), bytes: 4 };
        let operands: Vec<CallMemory> =
            given.iter().map(|value| place(&raw const *value)).collect();
        let places: Vec<CallMemory> = made.iter_mut().map(|value| place(&raw mut *value)).collect();
        let services: Arc<dyn Services> = Arc::new(Nothing);
        let state = call.begin();
        let moment = Moment {
            services: &services,
            state: state.as_ref(),
            operands: &operands,
            results: &places,
        };
        assert!(!call.has(Stage::Prepare));
        call.run(Stage::Execute, &moment)?;
        Ok(made)
    }

    fn sum(operands: *const *const c_void) -> i32 {
        // SAFETY: two numbers, as `call` gives them.
        unsafe { **operands.cast::<*const i32>() + **operands.cast::<*const i32>().add(1) }
    }

    unsafe extern "C" fn original(out: *mut c_void, operands: *const *const c_void) {
        // SAFETY: the memory of one number.
        unsafe { out.cast::<i32>().write(sum(operands)) };
    }

    unsafe extern "C" fn both(out: *mut c_void, operands: *const *const c_void) {
        let sum = sum(operands);
        // SAFETY: an array of two places.
        unsafe {
            let places = slice::from_raw_parts(out.cast::<*mut i32>(), 2);
            places[0].write(sum);
            places[1].write(-sum);
        }
    }

    unsafe extern "C" fn only(out: *mut c_void, operands: *const *const c_void) {
        // SAFETY: an array of one place.
        unsafe { (*out.cast::<*mut i32>()).write(sum(operands)) };
    }

    unsafe extern "C" fn fails(_: *mut c_void, _: *const *const c_void, status: *mut c_void) {
        let message = "a message that is long enough for memory of its own";
        // SAFETY: the status of this call.
        unsafe {
            XlaCustomCallStatusSetFailure(status, message.as_ptr().cast(), message.len());
        }
    }

    unsafe extern "C" fn unified(
        out: *mut c_void,
        operands: *const *const c_void,
        opaque: *const c_char,
        size: usize,
        status: *mut c_void,
    ) {
        // SAFETY: the opaque text and its NUL.
        let opaque = unsafe { slice::from_raw_parts(opaque.cast::<u8>(), size + 1) };
        assert_eq!(opaque.last(), Some(&0));
        let size = i32::try_from(size).unwrap();
        // SAFETY: the memory of one number; the status of this call.
        unsafe {
            out.cast::<i32>().write(sum(operands) + size);
            XlaCustomCallStatusSetFailure(status, opaque.as_ptr().cast(), opaque.len());
            if opaque.starts_with(b"fine") {
                XlaCustomCallStatusSetSuccess(status);
            }
        }
    }

    #[test]
    fn one_result_is_its_memory_and_a_tuple_an_array_of_places() {
        let function = original as *const ();
        assert_eq!(call(function, Abi::Original, "", 1, false), Ok(vec![5]));
        assert_eq!(call(both as *const (), Abi::Original, "", 2, true), Ok(vec![5, -5]));
        assert_eq!(call(only as *const (), Abi::Original, "", 1, true), Ok(vec![5]));
    }

    #[test]
    fn a_status_fails_the_call_in_its_words() {
        let error = call(fails as *const (), Abi::Status, "", 1, false).unwrap_err();
        let words = "a message that is long enough for memory of its own";
        assert_eq!(error.to_string(), words);
    }

    #[test]
    fn an_opaque_text_comes_with_its_size() {
        let function = unified as *const ();
        assert_eq!(call(function, Abi::StatusUnified, "fine", 1, false), Ok(vec![9]));
        let error = call(function, Abi::StatusUnified, "bad", 1, false).unwrap_err();
        assert_eq!(error.to_string(), "bad");
        let error = call(function, Abi::StatusUnified, "", 1, false).unwrap_err();
        assert_eq!(error.to_string(), "");
    }

    #[test]
    fn a_typed_call_of_an_untyped_function_is_refused() {
        assert!(call(original as *const (), Abi::Typed, "", 1, false).is_err());
    }
}
