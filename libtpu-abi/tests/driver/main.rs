//! Bad input of every kind through the exported functions of the TpuDriver interface, in one
//! machine that all tests share.
#![expect(unsafe_code, reason = "calls the C interface")]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "all keep the contract, but for what they test"
)]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod programs;

use libtpu_abi::driver::sys::{
    TpuAllocationShape, TpuBufferHandle, TpuDriver, TpuDriverFn, TpuEvent, TpuStatus,
};
use libtpu_abi::{
    TpuDriver_Allocate, TpuDriver_AllocateShape, TpuDriver_AllocateTuple, TpuDriver_Close,
    TpuDriver_ComputeLinearizedBytesFromShape, TpuDriver_Deallocate, TpuDriver_DelinearizeShape,
    TpuDriver_EventAddCallback, TpuDriver_EventAwait, TpuDriver_FreeEvent, TpuDriver_FreeStatus,
    TpuDriver_FreeSystemInfo, TpuDriver_Initialize, TpuDriver_LinearizeShape, TpuDriver_Open,
    TpuDriver_QuerySystemInfo, TpuDriver_Reset, TpuDriver_TransferFromDevice,
    TpuDriver_TransferFromDeviceToDevice, TpuDriver_TransferToDevice, TpuDriver_Version,
};
use std::ffi::{CStr, c_void};
use std::ptr::{self, null, null_mut};
use tpu_emu::origin::ChangeKind;
use tpu_emu::units::Bytes;
use tpu_emu::{Memory, MemoryKind};
use tpu_proto::Message;
use tpu_proto::tpu_driver::SystemInfo;
use tpu_proto::xla::{LayoutProto, PrimitiveType, ShapeProto};

const HBM: i32 = 1;
const OK: (i32, String) = (0, String::new());
const INVALID: i32 = 3;
const EXHAUSTED: i32 = 8;
const UNIMPLEMENTED: i32 = 12;

fn open() -> *mut TpuDriver {
    let driver = unsafe { TpuDriver_Open(c"local://".as_ptr()) };
    assert!(!driver.is_null());
    driver
}

fn taken(status: *mut TpuStatus) -> (i32, String) {
    let TpuStatus { code, msg } = unsafe { *status };
    let text = unsafe { CStr::from_ptr(msg) }.to_str().unwrap().to_owned();
    TpuDriver_FreeStatus(status);
    (code, text)
}

/// How an event went; it is freed.
fn ended(event: *mut TpuEvent) -> (i32, String) {
    let outcome = taken(TpuDriver_EventAwait(event, -1));
    TpuDriver_FreeEvent(event);
    outcome
}

fn allocate(driver: *mut TpuDriver, core: i32, bytes: i64) -> *mut TpuBufferHandle {
    unsafe { TpuDriver_Allocate(driver, core, HBM, bytes, 0, null_mut()) }
}

/// Code and text of a handle's own event.
fn outcome_of(handle: *mut TpuBufferHandle) -> (i32, String) {
    taken(TpuDriver_EventAwait(unsafe { (*handle).event }, 0))
}

fn deallocate(driver: *mut TpuDriver, handle: *mut TpuBufferHandle) -> (i32, String) {
    ended(unsafe { TpuDriver_Deallocate(driver, handle, 0, null_mut()) })
}

fn has(outcome: &(i32, String), code: i32, words: &str) {
    assert_eq!(outcome.0, code, "{}", outcome.1);
    assert!(outcome.1.contains(words), "{}", outcome.1);
}

/// Bytes of a message with what the interface wants beside them.
struct Said(Vec<u8>);

impl Said {
    fn shape(of: PrimitiveType, dims: &[i64], order: &[i64]) -> Self {
        let layout = LayoutProto { minor_to_major: order.to_vec(), ..LayoutProto::default() };
        let shape = ShapeProto {
            element_type: of.into(),
            dimensions: dims.to_vec(),
            layout: (!order.is_empty()).then_some(layout),
            ..ShapeProto::default()
        };
        Self(shape.encode_to_vec())
    }

    fn bytes(&self) -> (*mut c_void, i32) {
        (self.0.as_ptr().cast_mut().cast(), i32::try_from(self.0.len()).unwrap())
    }

    fn as_shape(&self) -> TpuAllocationShape {
        let (bytes, size) = self.bytes();
        TpuAllocationShape { bytes, size }
    }
}

#[test]
fn the_table_is_filled_and_null_is_told() {
    let mut table = std::mem::MaybeUninit::<TpuDriverFn>::zeroed();
    unsafe { TpuDriver_Initialize(table.as_mut_ptr(), true) };
    let table = unsafe { table.assume_init() };
    assert!(table.TpuDriver_Open.is_some() && table.TpuDriver_Version.is_some());
    unsafe { TpuDriver_Initialize(null_mut(), false) };
    let version = unsafe { CStr::from_ptr(TpuDriver_Version()) }.to_str().unwrap();
    assert!(version.starts_with("tpu-emu "), "{version}");
}

#[test]
fn a_driver_is_open_until_it_is_closed() {
    for worker in [null(), c"".as_ptr(), c"local:/".as_ptr(), c"grpc://a".as_ptr()] {
        assert!(unsafe { TpuDriver_Open(worker) }.is_null());
    }
    let driver = open();
    let buffer = allocate(driver, 0, 4096);
    TpuDriver_Close(driver);
    for gone in [driver, null_mut(), ptr::without_provenance_mut(64)] {
        assert!(allocate(gone, 0, 64).is_null());
        assert!(TpuDriver_QuerySystemInfo(gone).is_null());
        assert_eq!(taken(TpuDriver_Reset(gone)).0, INVALID);
        has(&deallocate(gone, buffer), INVALID, "TpuDriver");
        TpuDriver_Close(gone);
    }
    let again = open();
    has(&deallocate(again, buffer), INVALID, "TpuBufferHandle handle");
    TpuDriver_Close(again);
}

#[test]
fn the_system_has_chips_and_a_host() {
    let driver = open();
    let info = TpuDriver_QuerySystemInfo(driver);
    let (bytes, size) = unsafe { ((*info).bytes, (*info).size) };
    let size = usize::try_from(size).unwrap();
    let system = SystemInfo::decode(unsafe { std::slice::from_raw_parts(bytes.cast(), size) });
    TpuDriver_FreeSystemInfo(info);
    TpuDriver_FreeSystemInfo(info);
    TpuDriver_FreeSystemInfo(null_mut());
    let SystemInfo { tpu_chip, cpu } = system.unwrap();
    let cores: Vec<_> = tpu_chip.iter().flat_map(|chip| &chip.core).collect();
    assert!(cores.iter().map(|core| core.id).eq(0..8), "{cores:?}");
    assert!(cores.iter().all(|core| core.hbm_bytes_allocatable <= core.hbm_bytes_available));
    assert!(cpu.num_cpu_cores > 0);
    TpuDriver_Close(driver);
}

#[test]
fn memory_that_cannot_be_had_is_an_error_of_its_event() {
    let driver = open();
    let refused = |core, region, bytes, code, words: &str| {
        let handle = unsafe { TpuDriver_Allocate(driver, core, region, bytes, 0, null_mut()) };
        has(&outcome_of(handle), code, words);
        assert_eq!(unsafe { (*handle).size_in_bytes }, 0);
        // It is used like any other, and has its error.
        let word = [0_u8; 8];
        let sent = unsafe {
            TpuDriver_TransferToDevice(driver, word.as_ptr().cast(), handle, 0, null_mut())
        };
        has(&ended(sent), code, words);
        assert_eq!(deallocate(driver, handle), OK);
        has(&deallocate(driver, handle), INVALID, "stale");
    };
    refused(0, HBM, -1, INVALID, "an allocation of -1 bytes");
    refused(0, HBM, i64::MAX, INVALID, "");
    refused(0, HBM, 1 << 40, EXHAUSTED, "Attempting to allocate 1.00T");
    refused(0, 2, 64, INVALID, "memory region 2");
    refused(8, HBM, 64, INVALID, "core 8 of a machine with 8");
    refused(-1, HBM, 64, INVALID, "core -1");
    let empty = allocate(driver, 0, 0);
    assert_eq!(outcome_of(empty), OK);
    let sent = unsafe { TpuDriver_TransferToDevice(driver, null(), empty, 0, null_mut()) };
    assert_eq!(ended(sent), OK);
    assert_eq!(deallocate(driver, empty), OK);
    TpuDriver_Close(driver);
}

#[test]
fn every_allocation_is_on_record_by_the_functions_name() {
    let driver = open();
    // A size that no other test asks for.
    let buffer = allocate(driver, 5, 0x0012_3000);
    let machine = tpu_host::machine().unwrap();
    let memory = Memory { device: 5, kind: MemoryKind::Device };
    let before = machine.memory_stats(memory).bytes_in_use;
    assert_eq!(deallocate(driver, buffer), OK);
    let after = machine.memory_stats(memory).bytes_in_use;
    assert_eq!(before - after, Bytes(0x0012_3000));
    let past = machine.ledger().past();
    let own = past.iter().filter(|change| change.size == Bytes(0x0012_3000));
    let own: Vec<_> = own.map(|change| (change.kind, *change.record.origin.entry)).collect();
    let wanted =
        [(ChangeKind::Allocate, "TpuDriver_Allocate"), (ChangeKind::Free, "TpuDriver_Deallocate")];
    assert_eq!(own, wanted);
    TpuDriver_Close(driver);
}

#[test]
fn foreign_and_freed_handles_are_not_followed() {
    let (driver, other) = (open(), open());
    let buffer = allocate(driver, 0, 64);
    has(&deallocate(other, buffer), INVALID, "belongs to another TpuDriver");
    let mut own = unsafe { *buffer };
    let mut word = [0_u8; 64];
    let into = word.as_mut_ptr().cast();
    for pointer in [null_mut(), &raw mut own, ptr::without_provenance_mut(8), buffer] {
        let event = unsafe { TpuDriver_TransferFromDevice(driver, pointer, into, 0, null_mut()) };
        assert_eq!(ended(event).0 == 0, pointer == buffer);
    }
    let event = unsafe { TpuDriver_TransferFromDevice(driver, buffer, null_mut(), 0, null_mut()) };
    has(&ended(event), INVALID, "null dst");
    let event = unsafe { TpuDriver_TransferToDevice(driver, null(), buffer, 0, null_mut()) };
    has(&ended(event), INVALID, "null src");
    let small = allocate(driver, 1, 32);
    let copy = |from, to| unsafe {
        ended(TpuDriver_TransferFromDeviceToDevice(driver, from, to, 0, null_mut()))
    };
    has(&copy(buffer, small), INVALID, "a copy of 64 B to a buffer of 32 B");
    assert_eq!(copy(small, buffer), OK);
    assert_eq!(deallocate(driver, buffer), OK);
    has(&copy(small, buffer), INVALID, "stale");
    TpuDriver_Close(other);
    TpuDriver_Close(driver);
}

#[test]
fn events_are_awaited_and_their_errors_passed_on() {
    let driver = open();
    let failed = allocate(driver, 99, 1);
    let mut events = [unsafe { (*failed).event }];
    let late = unsafe { TpuDriver_Allocate(driver, 0, HBM, 64, 1, events.as_mut_ptr()) };
    has(&outcome_of(late), INVALID, "core 99");
    // Memory is freed whatever went before.
    let buffer = allocate(driver, 0, 64);
    let event = unsafe { TpuDriver_Deallocate(driver, buffer, 1, events.as_mut_ptr()) };
    has(&ended(event), INVALID, "core 99");
    has(&deallocate(driver, buffer), INVALID, "stale");
    for (count, list) in [(1, null_mut()), (-1, events.as_mut_ptr()), (i32::MAX, null_mut())] {
        let handle = unsafe { TpuDriver_Allocate(driver, 0, HBM, 64, count, list) };
        assert_eq!(outcome_of(handle).0, INVALID);
    }
    TpuDriver_FreeEvent(events[0]);
    let handle = unsafe { TpuDriver_Allocate(driver, 0, HBM, 64, 1, events.as_mut_ptr()) };
    has(&outcome_of(handle), INVALID, "TpuEvent handle");
    for event in [events[0], null_mut(), ptr::without_provenance_mut(8)] {
        assert_eq!(taken(TpuDriver_EventAwait(event, 10)).0, INVALID);
        TpuDriver_FreeEvent(event);
    }
    TpuDriver_Close(driver);
}

#[test]
fn callbacks_are_called_once_also_where_there_is_no_event() {
    unsafe extern "C" fn count(status: *mut TpuStatus, info: *mut c_void) {
        let codes = unsafe { &mut *info.cast::<Vec<i32>>() };
        codes.push(unsafe { (*status).code });
        // A client may free it here.
        if codes.len() == 1 {
            TpuDriver_FreeStatus(status);
        }
    }
    let driver = open();
    let buffer = allocate(driver, 0, 64);
    let event = unsafe { (*buffer).event };
    let mut codes: Vec<i32> = Vec::new();
    let info = (&raw mut codes).cast();
    unsafe {
        TpuDriver_EventAddCallback(event, Some(count), info);
        TpuDriver_EventAddCallback(event, Some(count), info);
        TpuDriver_EventAddCallback(event, None, info);
        TpuDriver_EventAddCallback(null_mut(), Some(count), info);
    }
    assert_eq!(codes, [0, 0, INVALID]);
    TpuDriver_FreeStatus(null_mut());
    TpuDriver_FreeStatus(ptr::without_provenance_mut(16));
    TpuDriver_Close(driver);
}

#[test]
fn arrays_go_to_the_devices_form_and_back() {
    let driver = open();
    // Column order on the host, row order on the device.
    let shape = Said::shape(PrimitiveType::U8, &[2, 3], &[0, 1]);
    let size = unsafe { TpuDriver_ComputeLinearizedBytesFromShape(driver, shape.as_shape()) };
    let mut form = vec![9_u8; usize::try_from(size).unwrap()];
    let host = [1_u8, 4, 2, 5, 3, 6];
    let to = form.as_mut_ptr().cast();
    let status =
        unsafe { TpuDriver_LinearizeShape(driver, to, host.as_ptr().cast(), shape.as_shape()) };
    assert_eq!(taken(status), OK);
    assert_eq!(form[..6], [1, 2, 3, 4, 5, 6]);
    assert!(form[6..].iter().all(|&byte| byte == 0));
    let mut back = [0_u8; 6];
    let into = back.as_mut_ptr().cast();
    let status = unsafe { TpuDriver_DelinearizeShape(driver, into, to, shape.as_shape()) };
    assert_eq!((taken(status), back), (OK, host));
    // Two elements a byte on the device.
    let shape = Said::shape(PrimitiveType::S4, &[3], &[]);
    let status =
        unsafe { TpuDriver_LinearizeShape(driver, to, host.as_ptr().cast(), shape.as_shape()) };
    assert_eq!((taken(status), form[0], form[1]), (OK, 0x41, 2));
    let into = back.as_mut_ptr().cast();
    let status = unsafe { TpuDriver_DelinearizeShape(driver, into, to, shape.as_shape()) };
    assert_eq!((taken(status), &back[..3]), (OK, &[1, 4, 2][..]));

    let status = unsafe { TpuDriver_LinearizeShape(driver, to, to, shape.as_shape()) };
    has(&taken(status), INVALID, "overlap");
    let status = unsafe { TpuDriver_LinearizeShape(driver, to, null(), shape.as_shape()) };
    has(&taken(status), INVALID, "null src");
    let status = unsafe { TpuDriver_DelinearizeShape(driver, null_mut(), to, shape.as_shape()) };
    has(&taken(status), INVALID, "null dst");
    TpuDriver_Close(driver);
}

#[test]
fn what_is_no_shape_is_refused() {
    let driver = open();
    let tuple = Said(
        ShapeProto { element_type: PrimitiveType::Tuple.into(), ..ShapeProto::default() }
            .encode_to_vec(),
    );
    let mut dynamic = ShapeProto::decode(&*Said::shape(PrimitiveType::F32, &[4], &[]).0).unwrap();
    dynamic.is_dynamic_dimension = vec![true];
    let cases = [
        (tuple, INVALID, "a tuple of 0"),
        (Said(dynamic.encode_to_vec()), UNIMPLEMENTED, "dynamic"),
        (Said(vec![0xFF; 9]), INVALID, "9 bytes are no shape"),
        (Said::shape(PrimitiveType::F32, &[-1], &[]), INVALID, "negative dimension"),
        (Said::shape(PrimitiveType::F32, &[i64::MAX, 9], &[]), INVALID, "2^63 bytes"),
        (Said::shape(PrimitiveType::F32, &[2, 2], &[0, 0]), INVALID, ""),
        (Said::shape(PrimitiveType::Invalid, &[2], &[]), INVALID, "element type"),
        (Said::shape(PrimitiveType::F32, &[1 << 40], &[]), EXHAUSTED, "4.00T"),
    ];
    for (shape, code, words) in &cases {
        let shape = shape.as_shape();
        let handle = unsafe { TpuDriver_AllocateShape(driver, 0, HBM, shape, 0, null_mut()) };
        has(&outcome_of(handle), *code, words);
        let mut word = [0_u8; 64];
        let to = word.as_mut_ptr().cast();
        let status = unsafe { TpuDriver_DelinearizeShape(driver, to, to, shape) };
        assert_ne!(taken(status).0, 0);
    }
    for (bytes, size) in [(null_mut(), 4), (null_mut(), -4)] {
        let shape = TpuAllocationShape { bytes, size };
        assert_eq!(unsafe { TpuDriver_ComputeLinearizedBytesFromShape(driver, shape) }, -1);
    }
    TpuDriver_Close(driver);
}

#[test]
fn a_tuple_is_of_one_core_and_is_not_copied() {
    let driver = open();
    let (here, there) = (allocate(driver, 0, 64), allocate(driver, 1, 64));
    let tuple = |mut parts: Vec<*mut TpuBufferHandle>, count| unsafe {
        let list = parts.as_mut_ptr();
        TpuDriver_AllocateTuple(driver, 0, HBM, count, list, 0, null_mut())
    };
    has(&outcome_of(tuple(vec![here, there], 2)), INVALID, "part 1 of a tuple");
    has(&outcome_of(tuple(vec![here, null_mut()], 2)), INVALID, "null TpuBufferHandle");
    has(&outcome_of(tuple(vec![here], -1)), INVALID, "-1 buffers");
    let good = tuple(vec![here, here], 2);
    assert_eq!(unsafe { (*good).size_in_bytes }, 16);
    let mut word = [0_u8; 64];
    let into = word.as_mut_ptr().cast();
    let event = unsafe { TpuDriver_TransferFromDevice(driver, good, into, 0, null_mut()) };
    has(&ended(event), INVALID, "a tuple of 2 buffers");
    let mut nested = good;
    for _ in 0..70 {
        nested = tuple(vec![nested], 1);
    }
    has(&outcome_of(nested), INVALID, "64 tuples inside of tuples");
    TpuDriver_Close(driver);
}
