//! Infeed and outfeed, which no program of this machine has.
// UNSAFETY: exports functions.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::boundary::report;
use crate::objects;
use crate::sys::{SE_StreamExecutor, TF_Status};
use tpu_emu::Error;
use tpu_emu::entry::FunctionName;

fn refuse(function: FunctionName, executor: *const SE_StreamExecutor, status: *mut TF_Status) {
    report(function, status, || {
        objects::executor(executor)?;
        Err(Error::Unimplemented(format!(
            "{function}: programs with infeed or outfeed are refused, so nothing is fed"
        )))
    });
}

/// Refused.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_EnqueueInfeed(
    executor: *mut SE_StreamExecutor,
    _infeed_queue_index: i32,
    _data: *const u8,
    _size: i64,
    status: *mut TF_Status,
) {
    refuse(&"TpuExecutor_EnqueueInfeed", executor, status);
}

/// Refused.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_DequeueOutfeed(
    executor: *mut SE_StreamExecutor,
    _outfeed_queue_index: i32,
    _data: *mut u8,
    _size: i64,
    status: *mut TF_Status,
) {
    refuse(&"TpuExecutor_DequeueOutfeed", executor, status);
}

/// Refused.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_WaitForInfeedReady(
    executor: *mut SE_StreamExecutor,
    _infeed_queue_index: i32,
    status: *mut TF_Status,
) {
    refuse(&"TpuExecutor_WaitForInfeedReady", executor, status);
}

/// Refused.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_WaitForOutfeedReady(
    executor: *mut SE_StreamExecutor,
    _outfeed_queue_index: i32,
    status: *mut TF_Status,
) {
    refuse(&"TpuExecutor_WaitForOutfeedReady", executor, status);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TpuStatus_Code;
    use crate::client::{CStatus, executor};
    use std::ptr;
    use tpu_emu::Code;

    #[test]
    fn every_feed_is_refused_by_its_name() {
        let (own, status) = (executor(0), CStatus::new());
        let refused = |name: &str| {
            assert!(status.text().starts_with(name), "{}", status.text());
            assert_eq!(TpuStatus_Code(status.0), Code::Unimplemented as i32);
        };
        TpuExecutor_EnqueueInfeed(own, 0, ptr::null(), -1, status.0);
        refused("TpuExecutor_EnqueueInfeed: programs with infeed or outfeed are refused");
        TpuExecutor_DequeueOutfeed(own, 0, ptr::null_mut(), i64::MAX, status.0);
        refused("TpuExecutor_DequeueOutfeed: ");
        TpuExecutor_WaitForInfeedReady(own, -1, status.0);
        refused("TpuExecutor_WaitForInfeedReady: ");
        TpuExecutor_WaitForOutfeedReady(own, 0, status.0);
        refused("TpuExecutor_WaitForOutfeedReady: ");
        TpuExecutor_WaitForOutfeedReady(ptr::null_mut(), 0, status.0);
        assert_eq!(status.text(), "null SE_StreamExecutor");
    }
}
