//! Copies between the client's memory and a device's.
// UNSAFETY: exports functions, and reads and writes the client's memory.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::boundary::{answer, report};
use crate::memory;
use crate::objects::{self, Executor};
use crate::sys::{SE_DeviceMemoryBase, SE_Stream, SE_StreamExecutor, TF_Status};
use crate::{abi, status};
use std::ffi::c_void;
use tpu_emu::entry::FunctionName;
use tpu_emu::units::{Bytes, to_usize};
use tpu_emu::{Error, Result};

/// Copies bytes of the client's to a block of the executor's device.
///
/// # Safety
/// `from` is null or valid for `size` bytes for the length of the call.
///
/// # Errors
/// `BadArgument` where the device has not the bytes, `Null`; then nothing is written.
pub(crate) unsafe fn copy_from_host(
    executor: &Executor,
    to: &SE_DeviceMemoryBase,
    from: *const c_void,
    size: u64,
) -> Result<()> {
    check(executor, to, size)?;
    // SAFETY: the promise of this function's caller.
    let bytes = unsafe { memory::slice(from.cast::<u8>(), to_usize(size), "host_src") }?;
    executor.machine.write_raw(to.opaque.addr(), bytes)
}

/// Copies bytes of a block of the executor's device to the client.
///
/// # Safety
/// `to` is null or valid for `size` bytes, which nobody else uses, for the length of the call.
///
/// # Errors
/// As for [`copy_from_host`].
pub(crate) unsafe fn copy_to_host(
    executor: &Executor,
    to: *mut c_void,
    from: &SE_DeviceMemoryBase,
    size: u64,
) -> Result<()> {
    check(executor, from, size)?;
    // SAFETY: the promise of this function's caller.
    let bytes = unsafe { memory::slice_mut(to.cast::<u8>(), to_usize(size), "host_dst") }?;
    executor.machine.read_raw(from.opaque.addr(), bytes)
}

/// That the block is of this device and as large as the client says. Whether it is that large is
/// the machine's to know.
fn check(executor: &Executor, block: &SE_DeviceMemoryBase, size: u64) -> Result<()> {
    let (held, asked) = (Bytes(block.size), Bytes(size));
    if asked > held {
        return Err(Error::bad(format!("a copy of {asked} with a block of {held}")));
    }
    let Some(device) = executor.machine.raw_device(block.opaque.addr()) else { return Ok(()) };
    if device != executor.device {
        let devices = executor.machine.topology().devices();
        let [own, other] = [executor.device, device].map(|device| devices[device].id);
        return Err(Error::bad(format!(
            "a copy on TPU_{own} with the block at {:#x}, which is on TPU_{other}",
            block.opaque.addr()
        )));
    }
    Ok(())
}

/// Copies bytes of HBM to the client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuExecutor_SynchronousMemcpyToHost(
    executor: *mut SE_StreamExecutor,
    host_dst: *mut c_void,
    device_src: *const SE_DeviceMemoryBase,
    size: u64,
    status: *mut TF_Status,
) {
    report(&"TpuExecutor_SynchronousMemcpyToHost", status, || {
        let executor = objects::executor(executor)?;
        // SAFETY: the contract of the interface.
        unsafe { copy_to_host(&executor, host_dst, &memory::get(device_src, "device_src")?, size) }
    });
}

/// Copies bytes of the client's to HBM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuExecutor_SynchronousMemcpyFromHost(
    executor: *mut SE_StreamExecutor,
    device_dst: *mut SE_DeviceMemoryBase,
    host_src: *const c_void,
    size: u64,
    status: *mut TF_Status,
) {
    report(&"TpuExecutor_SynchronousMemcpyFromHost", status, || {
        let executor = objects::executor(executor)?;
        // SAFETY: the contract of the interface.
        unsafe {
            let to = memory::get(device_dst.cast_const(), "device_dst")?;
            copy_from_host(&executor, &to, host_src, size)
        }
    });
}

/// Copies bytes of HBM to the client, in a stream.
///
/// With configs: the result says whether it went well. Without: a status says it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuExecutor_MemcpyToHost(
    executor: *mut SE_StreamExecutor,
    stream: *mut SE_Stream,
    host_dst: *mut c_void,
    device_src: *const SE_DeviceMemoryBase,
    size: u64,
    status: usize,
) -> bool {
    say(&"TpuExecutor_MemcpyToHost", status, || {
        let executor = objects::executor(executor)?;
        executor.stream(stream)?.run(|| {
            // SAFETY: the contract of the interface.
            let from = unsafe { memory::get(device_src, "device_src") }?;
            // SAFETY: as above.
            unsafe { copy_to_host(&executor, host_dst, &from, size) }
        })
    })
}

/// Copies bytes of the client's to HBM, in a stream.
///
/// With configs: the result says whether it went well. Without: a status says it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuExecutor_MemcpyFromHost(
    executor: *mut SE_StreamExecutor,
    stream: *mut SE_Stream,
    device_dst: *mut SE_DeviceMemoryBase,
    host_src: *const c_void,
    size: u64,
    status: usize,
) -> bool {
    say(&"TpuExecutor_MemcpyFromHost", status, || {
        let executor = objects::executor(executor)?;
        executor.stream(stream)?.run(|| {
            // SAFETY: the contract of the interface.
            let to = unsafe { memory::get(device_dst.cast_const(), "device_dst") }?;
            // SAFETY: as above.
            unsafe { copy_from_host(&executor, &to, host_src, size) }
        })
    })
}

/// Says in the way of the dialect how a copy went. In the older one, `status` is what happens to
/// be in a register.
fn say(function: FunctionName, status: usize, body: impl FnOnce() -> Result<()>) -> bool {
    let body = || body().map(|()| true);
    match abi::current() {
        Ok(abi) if !abi.calls.configs => {
            crate::boundary::report_or(function, status::by_dialect(0, status), false, body)
        }
        _ => answer(function, false, body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{CStatus, Held, executor, stream};
    use crate::{TpuExecutor_GetStatus, TpuStream_Status};
    use std::ptr;

    fn status_of(device: usize, stream: *mut SE_Stream) -> String {
        let status = CStatus::new();
        TpuExecutor_GetStatus(executor(device), stream, status.0);
        status.text()
    }

    #[test]
    fn bytes_go_there_and_back() {
        let (mut block, status) = (Held::new(2, 1024), CStatus::new());
        let (own, work) = (executor(2), stream(2));
        let (sent, mut back) = ([1_u8, 2, 3, 4], [0_u8; 4]);
        // SAFETY: memory of this test.
        unsafe {
            let to = &raw mut block.base;
            let from = sent.as_ptr().cast();
            TpuExecutor_SynchronousMemcpyFromHost(own, to, from, 4, status.0);
            assert_eq!(status.text(), "");
            TpuExecutor_SynchronousMemcpyToHost(own, back.as_mut_ptr().cast(), to, 3, status.0);
            assert_eq!((status.text().as_str(), back), ("", [1, 2, 3, 0]));
            // What stands where other dialects have a status is no status.
            assert!(TpuExecutor_MemcpyFromHost(own, work, to, from.byte_add(2), 2, 0xDEAD));
            assert!(TpuExecutor_MemcpyToHost(own, work, back.as_mut_ptr().cast(), to, 4, 0));
        }
        assert_eq!(back, [3, 4, 3, 4]);
        assert!(TpuStream_Status(work));
    }

    #[test]
    fn a_copy_of_nothing_needs_no_memory() {
        let status = CStatus::new();
        let mut none = SE_DeviceMemoryBase::NULL;
        // SAFETY: nothing is read or written.
        unsafe {
            let to = &raw mut none;
            TpuExecutor_SynchronousMemcpyFromHost(executor(2), to, ptr::null(), 0, status.0);
            assert_eq!(status.text(), "");
            TpuExecutor_SynchronousMemcpyToHost(executor(2), ptr::null_mut(), to, 0, status.0);
        }
        assert_eq!(status.text(), "");
    }

    #[test]
    fn a_copy_past_a_block_or_on_another_device_is_refused_and_fails_its_stream() {
        let (mut block, status) = (Held::new(3, 512), CStatus::new());
        let mut bytes = [7_u8; 600];
        let host = bytes.as_mut_ptr().cast();
        let text = |body: &dyn Fn(*mut TF_Status)| {
            body(status.0);
            status.text()
        };
        let own = executor(3);
        let (base, mut larger) = (&raw mut block.base, block.base);
        larger.size = 600;
        let larger = &raw mut larger;
        let address = block.base.opaque.addr();
        // SAFETY: memory of this test; what is past it is refused.
        unsafe {
            let past = text(&|status| {
                TpuExecutor_SynchronousMemcpyToHost(own, host, base, 513, status);
            });
            assert_eq!(past, "a copy of 513 B with a block of 512 B");
            let past = text(&|status| {
                TpuExecutor_SynchronousMemcpyFromHost(own, larger, host, 600, status);
            });
            assert!(past.ends_with("where the block has 512 B"), "{past}");
            let elsewhere = text(&|status| {
                TpuExecutor_SynchronousMemcpyToHost(executor(2), host, base, 8, status);
            });
            let on = format!("a copy on TPU_2 with the block at {address:#x}, which is on TPU_3");
            assert_eq!(elsewhere, on);
            let huge = text(&|status| {
                TpuExecutor_SynchronousMemcpyToHost(own, host, base, u64::MAX, status);
            });
            assert!(huge.ends_with("with a block of 512 B"), "{huge}");
            let null = text(&|status| {
                TpuExecutor_SynchronousMemcpyToHost(own, ptr::null_mut(), base, 8, status);
            });
            assert_eq!(null, "null host_dst");
            let null = text(&|status| {
                TpuExecutor_SynchronousMemcpyFromHost(own, ptr::null_mut(), host, 8, status);
            });
            assert_eq!(null, "null device_dst");

            let work = stream(3);
            assert!(!TpuExecutor_MemcpyToHost(own, work, host, base, 513, 0));
            assert!(!TpuStream_Status(work));
            assert_eq!(status_of(3, work), "a copy of 513 B with a block of 512 B");
            // Work behind the failure is not done.
            assert!(!TpuExecutor_MemcpyFromHost(own, work, base, host, 4, 0));
            assert!(!TpuExecutor_MemcpyFromHost(own, ptr::null_mut(), base, host, 4, 0));
            assert!(!TpuExecutor_MemcpyFromHost(own, stream(2), base, host, 4, 0));
        }
        assert_eq!(block.bytes(512), [0xEE; 512]);
        assert_eq!(bytes, [7; 600]);
    }
}
