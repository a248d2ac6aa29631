//! `TpuAllocationShape`: shapes of arrays, their size on the device, and the way there and back.
// UNSAFETY: exports functions, reads and writes the client's arrays.
#![expect(unsafe_code, reason = "functions of the C interface")]
use super::sys::{TpuAllocationShape, TpuDriver, TpuStatus};
use super::{message, opened, status};
use crate::boundary::answer;
use crate::memory;
use crate::shape::Shape;
use std::ffi::c_void;
use std::sync::Arc;
use tpu_emu::hbm::spec::{ArraySpec, Specs};
use tpu_emu::tensor::pack::{pack, unpack};
use tpu_emu::tensor::strided::{Strided, ordered_strides};
use tpu_emu::units::{Bytes, to_u64, to_usize};
use tpu_emu::{Error, Result};
use tpu_proto::Message;
use tpu_proto::xla::ShapeProto;

/// An array by its shape, on the device and on the host.
#[derive(Debug)]
pub(super) struct Array {
    /// On the device: dense and row-major at the start of the padded bytes.
    pub(super) spec: Arc<ArraySpec>,
    /// Order of the axes on the host, the fastest first.
    order: Vec<usize>,
}

impl Array {
    /// The array of a client's message.
    ///
    /// # Safety
    /// The bytes are null or valid for the size beside them.
    ///
    /// # Errors
    /// `BadArgument` for bytes that are no message, tuples, impossible types and sizes;
    /// `Unimplemented` for dynamic dimensions.
    pub(super) unsafe fn read(shape: TpuAllocationShape, specs: &Specs) -> Result<Self> {
        // SAFETY: the promise of this function's caller.
        let bytes = unsafe { message(shape.bytes.cast_const(), shape.size, "shape") }?;
        let proto = ShapeProto::decode(bytes)
            .map_err(|error| Error::bad(format!("{} bytes are no shape: {error}", bytes.len())))?;
        let shape = Shape::from_proto(&proto)?;
        if shape.is_tuple() {
            let parts = proto.tuple_shapes.len();
            return Err(Error::bad(format!(
                "a tuple of {parts}; its parts have memory of their own"
            )));
        }
        if shape.is_dynamic() {
            return Err(Error::Unimplemented("arrays with dynamic dimensions".to_owned()));
        }
        let spec = shape.spec(specs)?;
        let order = match &shape.layout {
            Some(layout) => layout.order()?,
            None => (0..spec.dims.len()).rev().collect(),
        };
        Ok(Self { spec, order })
    }

    /// Whether the device could hold it.
    fn check_size(&self, limit: Bytes) -> Result<()> {
        let (text, size) = (self.spec.text(), self.size());
        if size <= limit {
            return Ok(());
        }
        Err(Error::bad(format!("{text} takes {size}; a core has {limit}")))
    }

    /// Bytes on the device.
    pub(super) fn size(&self) -> Bytes {
        self.spec.padded.max(self.spec.logical)
    }

    /// Bits of an element that is packed below a byte.
    fn packed(&self) -> Option<u32> {
        let element = self.spec.dtype.element();
        (element.bits < 8 && self.spec.logical < self.spec.host_size()).then_some(element.bits)
    }

    /// From the host's order of elements to the device's.
    fn to_device(&self, host: &[u8], device: &mut [u8]) -> Result<()> {
        let spec = &*self.spec;
        let logical = to_usize(spec.logical.0);
        let element = spec.dtype.host_bytes();
        let strides = ordered_strides(&spec.dims, element, &self.order)?;
        let strided = Strided { dims: &spec.dims, strides: &strides, element };
        let mut dense = room(host.len())?;
        strided.gather(host, 0, &mut dense)?;
        let (own, padding) = device.split_at_mut(logical);
        match self.packed() {
            Some(bits) => pack(bits, &dense, own),
            None => own.copy_from_slice(&dense),
        }
        padding.fill(0);
        Ok(())
    }

    /// The way back.
    fn to_host(&self, device: &[u8], host: &mut [u8]) -> Result<()> {
        let spec = &*self.spec;
        let own = &device[..to_usize(spec.logical.0)];
        let element = spec.dtype.host_bytes();
        let strides = ordered_strides(&spec.dims, element, &self.order)?;
        let strided = Strided { dims: &spec.dims, strides: &strides, element };
        match self.packed() {
            Some(bits) => {
                let mut loose = room(host.len())?;
                loose.resize(host.len(), 0);
                unpack(bits, own, &mut loose);
                strided.scatter(&loose, 0, host)
            }
            None => strided.scatter(own, 0, host),
        }
    }
}

/// An empty vector with room for these bytes.
fn room(size: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(size)
        .map_err(|error| Error::Host(format!("{}: {error}", Bytes(to_u64(size)))))?;
    Ok(bytes)
}

/// Bytes that an array takes on the device; -1 for what is no shape of an array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_ComputeLinearizedBytesFromShape(
    driver: *mut TpuDriver,
    shape: TpuAllocationShape,
) -> i64 {
    answer(&"TpuDriver_ComputeLinearizedBytesFromShape", -1, || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let array = unsafe { Array::read(shape, opened.machine.specs()) }?;
        let size = array.size();
        i64::try_from(size.0).map_err(|_| Error::bad(format!("{size} are past 2^63")))
    })
}

/// Brings an array of the host at `src`, dense in the order of the shape's layout, into the
/// device's form at `dst`, whose padding becomes zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_LinearizeShape(
    driver: *mut TpuDriver,
    dst: *mut c_void,
    src: *const c_void,
    shape: TpuAllocationShape,
) -> *mut TpuStatus {
    status::report(&"TpuDriver_LinearizeShape", || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let array = unsafe { Array::read(shape, opened.machine.specs()) }?;
        array.check_size(opened.machine.memory_limit())?;
        let (host, device) = (to_usize(array.spec.host_size().0), to_usize(array.size().0));
        check_apart((src.addr(), host), (dst.addr(), device))?;
        // SAFETY: the contract of the interface: an array of this shape.
        let host = unsafe { memory::slice(src.cast::<u8>(), host, "src") }?;
        // SAFETY: as above, in the device's form.
        let device = unsafe { memory::slice_mut(dst.cast::<u8>(), device, "dst") }?;
        array.to_device(host, device)
    })
}

/// Brings an array in the device's form at `src` back into the host's at `dst`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_DelinearizeShape(
    driver: *mut TpuDriver,
    dst: *mut c_void,
    src: *const c_void,
    shape: TpuAllocationShape,
) -> *mut TpuStatus {
    status::report(&"TpuDriver_DelinearizeShape", || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let array = unsafe { Array::read(shape, opened.machine.specs()) }?;
        array.check_size(opened.machine.memory_limit())?;
        let (host, device) = (to_usize(array.spec.host_size().0), to_usize(array.size().0));
        check_apart((dst.addr(), host), (src.addr(), device))?;
        // SAFETY: the contract of the interface: an array of this shape in the device's form.
        let device = unsafe { memory::slice(src.cast::<u8>(), device, "src") }?;
        // SAFETY: as above, in the host's form.
        let host = unsafe { memory::slice_mut(dst.cast::<u8>(), host, "dst") }?;
        array.to_host(device, host)
    })
}

/// Whether two ranges of bytes are apart.
fn check_apart(host: (usize, usize), device: (usize, usize)) -> Result<()> {
    let (from, to) = (host.0.saturating_add(host.1), device.0.saturating_add(device.1));
    if from <= device.0 || to <= host.0 {
        return Ok(());
    }
    Err(Error::bad(format!(
        "the host's {} bytes at {:#x} and the device's {} bytes at {:#x} overlap",
        host.1, host.0, device.1, device.0
    )))
}
