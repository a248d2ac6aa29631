//! `SE_DeviceMemoryAllocator`: memory that a client hands to a run.
// UNSAFETY: calls the client's functions.
#![expect(unsafe_code, reason = "calls the client's allocator")]
use crate::status;
use crate::sys::{SE_DeviceMemoryAllocator, SE_DeviceMemoryBase, SE_ScopedDeviceMemory, TF_Status};
use std::cell::RefCell;
use std::ffi::c_int;
use tpu_emu::units::Bytes;
use tpu_emu::{Error, Result};

/// A client's allocator, for the length of a call.
#[derive(Debug)]
pub(crate) struct Allocator(SE_DeviceMemoryAllocator);

/// Memory taken from an allocator, which gets it back unless it is kept.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    allocator: &'a Allocator,
    ordinal: c_int,
    blocks: RefCell<Vec<SE_DeviceMemoryBase>>,
}

impl Allocator {
    /// The allocator in the options of a run.
    pub(crate) fn new(allocator: SE_DeviceMemoryAllocator) -> Self {
        Self(allocator)
    }

    /// Nothing taken yet.
    pub(crate) fn taking(&self, ordinal: c_int) -> Taken<'_> {
        Taken { allocator: self, ordinal, blocks: RefCell::default() }
    }

    /// What the client's function gives, and whether that is enough.
    fn allocate(&self, ordinal: c_int, size: Bytes) -> Result<(SE_DeviceMemoryBase, Result<()>)> {
        let allocate = self.0.allocate.ok_or(Error::Null("allocate"))?;
        let wrapped = SE_DeviceMemoryBase::NULL;
        let mut scoped = SE_ScopedDeviceMemory { wrapped, device_ordinal: ordinal };
        with_status(|status| {
            // SAFETY: the client's function with the arguments that its header asks for. No lock
            // is held: it calls this library back.
            unsafe { allocate(self.0.ctx, ordinal, size.0, true, 0, &raw mut scoped, status) };
        })?;
        let base = scoped.wrapped;
        let enough = if size > Bytes::ZERO && base.opaque.is_null() {
            Err(Error::Host(format!("the client's allocator gave no memory for {size}")))
        } else if base.size < size.0 {
            let given = Bytes(base.size);
            let message = format!("the client's allocator gave {given} where {size} were asked");
            Err(Error::Host(message))
        } else {
            Ok(())
        };
        Ok((base, enough))
    }

    fn deallocate(&self, ordinal: c_int, mut base: SE_DeviceMemoryBase) -> Result<()> {
        let deallocate = self.0.deallocate.ok_or(Error::Null("deallocate"))?;
        with_status(|status| {
            // SAFETY: as above.
            unsafe { deallocate(self.0.ctx, &raw mut base, ordinal, status) };
        })
    }
}

/// Gives a function of the client's a status, and its outcome.
fn with_status(call: impl FnOnce(*mut TF_Status)) -> Result<()> {
    let own = status::give(Ok(()));
    call(own);
    status::take(own)
}

impl Taken<'_> {
    /// Memory of a size.
    ///
    /// # Errors
    /// The client's; `Null` without a function; `Host` for too little.
    pub(crate) fn take(&self, size: Bytes) -> Result<SE_DeviceMemoryBase> {
        let (base, enough) = self.allocator.allocate(self.ordinal, size)?;
        // What is too little goes back, too.
        self.blocks.borrow_mut().push(base);
        enough.map(|()| base)
    }

    /// Leaves all of it to the client.
    pub(crate) fn keep(&self) {
        self.blocks.borrow_mut().clear();
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        for base in self.blocks.take() {
            if base.opaque.is_null() {
                continue;
            }
            if let Err(error) = self.allocator.deallocate(self.ordinal, base) {
                tpu_host::tell(&format!("memory of a run that failed was not freed: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::launcher::{INC, LaunchCall, Pool, code, f32s, held, program};

    /// The error of a run that has one result.
    fn refused(change: impl FnOnce(&mut Pool), options: impl FnOnce(&mut LaunchCall)) -> String {
        let (executable, x, mut pool) = (program(&code(INC)), held(0, &[1.0, 2.0]), Pool::new(0));
        change(&mut pool);
        let mut call =
            LaunchCall::new(executable, &mut pool, 0).with(&f32s(&[2]), &[(x.base, false)]);
        options(&mut call);
        let error = call.run().unwrap_err();
        assert!(pool.live.is_empty());
        error
    }

    #[test]
    fn too_little_is_given_back_and_said() {
        let error = refused(|pool| pool.short_at = Some(0), |_| ());
        assert!(error.contains("gave 256 B where 512 B were asked"), "{error}");
    }

    #[test]
    fn the_client_s_own_error_comes_back_with_its_code() {
        let error = refused(|pool| pool.fails_at = Some(0), |_| ());
        assert!(error.contains("the pool is dry"), "{error}");
    }

    #[test]
    fn a_missing_function_is_named() {
        let error = refused(|_| (), |call| call.options.allocator.allocate = None);
        assert!(error.contains("allocate"), "{error}");
    }

    #[test]
    fn what_a_failed_run_has_taken_goes_back() {
        let text = "HloModule two
            ENTRY main { x = f32[2] parameter(0) n = f32[2] negate(x)
              ROOT t = (f32[2], (f32[2], f32[2])) tuple(n, p) }"
            .replace("ROOT", "p = (f32[2], f32[2]) tuple(x, n) ROOT");
        let (executable, x) = (program(&code(&text)), held(0, &[1.0, 2.0]));
        for fails_at in 0..5 {
            let mut pool = Pool::new(0);
            pool.fails_at = Some(fails_at);
            let mut call =
                LaunchCall::new(executable, &mut pool, 0).with(&f32s(&[2]), &[(x.base, false)]);
            assert!(call.run().unwrap_err().contains("the pool is dry"));
            assert_eq!((pool.asked.len(), pool.live.len()), (fails_at + 1, 0));
        }
    }
}
