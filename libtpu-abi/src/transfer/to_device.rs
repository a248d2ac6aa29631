//! Literals to the device.
// UNSAFETY: exports a function, and follows pointers of the client.
#![expect(unsafe_code, reason = "a function of the C interface")]
use super::literal::{Leaf, Literal};
use super::manager;
use super::shaped_buffer::{ClientArray, ShapedBuffer};
use crate::abi::{self, Abi};
use crate::boundary::report;
use crate::memory::At;
use crate::objects::{self, Executor};
use crate::shape::Shape;
use crate::sys::{SE_Stream, TF_Status, XLA_Literal, XLA_ShapedBuffer, XLA_TransferManager};
use tpu_emu::hbm::spec::ArraySpec;
use tpu_emu::tensor::pack::pack;
use tpu_emu::units::to_usize;
use tpu_emu::{Emulator, Error, Result};

/// Copies a literal to the device, and the addresses of its parts to the tables of its tuples.
///
/// The stream keeps the error, and nothing is written where shapes, sizes or blocks do not fit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuTransferManager_TransferLiteralToDeviceAsync(
    manager: *mut XLA_TransferManager,
    stream: *mut SE_Stream,
    literal: *mut XLA_Literal,
    device_buffer: *mut XLA_ShapedBuffer,
    status: *mut TF_Status,
) {
    report(&"TpuTransferManager_TransferLiteralToDeviceAsync", status, || {
        let stream = objects::stream(stream)?;
        stream.run(|| {
            manager::check(manager)?;
            // SAFETY: the contract of the interface.
            let literal = unsafe { At::new(literal.cast_const(), "literal") }?;
            // SAFETY: as above.
            let buffer = unsafe { At::new(device_buffer.cast_const(), "device_buffer") }?;
            to_device(abi::current()?, &stream.executor, literal, buffer)
        })
    });
}

pub(super) fn to_device(
    abi: &Abi,
    executor: &Executor,
    literal: At<'_>,
    buffer: At<'_>,
) -> Result<()> {
    let (machine, device) = (&executor.machine, executor.device);
    let literal = Literal::read(abi, literal)?;
    let buffer = ShapedBuffer::read(abi, buffer)?;
    check_same(&literal.shape, &buffer.shape)?;
    let parts = buffer.parts(machine, device)?;
    let tables = buffer.tables(machine, device)?;
    for (leaf, part) in literal.leaves.iter().zip(&parts) {
        write(machine, leaf, part)?;
    }
    for table in tables {
        machine.write_raw(table.address, &table.bytes())?;
    }
    Ok(())
}

fn write(machine: &Emulator, leaf: &Leaf, part: &ClientArray) -> Result<()> {
    leaf.give(&part.spec.dims, |elements| {
        let at = part.address + to_usize(part.place.elements);
        packed(&part.spec, elements, |bytes| machine.write_raw(at, bytes))
    })?;
    let Some(extents) = part.place.extents else { return Ok(()) };
    let mut numbers = Vec::new();
    for &dim in &leaf.dims {
        let number = i32::try_from(dim).map_err(|_| Error::bad(format!("an extent of {dim}")))?;
        numbers.extend_from_slice(&number.to_le_bytes());
    }
    machine.write_raw(part.address + to_usize(extents), &numbers)
}

/// Gives `take` the elements as the device has them: sub-byte types packed.
///
/// # Errors
/// Those of `take`.
pub(super) fn packed<R>(
    spec: &ArraySpec,
    elements: &[u8],
    take: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<R> {
    let bits = spec.dtype.element().bits;
    if bits >= 8 {
        return take(elements);
    }
    let mut packed = vec![0; to_usize(spec.logical.0)];
    pack(bits, elements, &mut packed);
    take(&packed)
}

/// Whether a literal has the types and extents of a device's arrays, layouts aside; fewer
/// elements will do in a dynamic dimension.
///
/// # Errors
/// `BadArgument` with both shapes.
pub(super) fn check_same(literal: &Shape, device: &Shape) -> Result<()> {
    if same(literal, device) {
        return Ok(());
    }
    let (literal, device) = (literal.text(), device.text());
    Err(Error::bad(format!("a literal of {literal} for a buffer of {device}")))
}

fn same(literal: &Shape, device: &Shape) -> bool {
    let fits = |(axis, (dim, bound)): (usize, (&i64, &i64))| {
        dim == bound || (dim < bound && device.dynamic.get(axis) == Some(&true))
    };
    literal.element_type == device.element_type
        && literal.dims.len() == device.dims.len()
        && literal.dims.iter().zip(&device.dims).enumerate().all(fits)
        && literal.tuple.len() == device.tuple.len()
        && literal.tuple.iter().zip(&device.tuple).all(|(a, b)| same(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{CLiteral, CShapedBuffer, Held, dialect, put, stream};
    use crate::sys::SE_DeviceMemoryBase;
    use std::ptr;
    use tpu_proto::xla::PrimitiveType;

    fn bytes(dims: &[i64]) -> Shape {
        Shape::array(PrimitiveType::U8 as i32, dims.to_vec())
    }

    fn outcome(literal: &mut CLiteral, shape: &Shape, bases: &[SE_DeviceMemoryBase]) -> String {
        put(stream(0), literal, &mut CShapedBuffer::new(dialect(), shape, bases))
    }

    #[test]
    fn literals_that_do_not_fit_are_refused_and_write_nothing() {
        let (abi, shape) = (dialect(), bytes(&[4]));
        let held = Held::new(0, 1024);
        let refused = |literal: &mut CLiteral, shape: &Shape, text: &str| {
            assert_eq!(outcome(literal, shape, &[held.base]), text);
            assert_eq!(held.bytes(1024), [0xEE; 1024]);
        };
        let mut four = CLiteral::new(abi, &shape, &[&[1, 2, 3, 4]]);
        for (other, text) in [
            (bytes(&[5]), "a literal of u8[4] for a buffer of u8[5]"),
            (bytes(&[2, 2]), "a literal of u8[4] for a buffer of u8[2,2]"),
            (
                Shape::array(PrimitiveType::S8 as i32, vec![4]),
                "a literal of u8[4] for a buffer of s8[4]",
            ),
        ] {
            refused(&mut four, &other, text);
        }
        let tuple = Shape::tuple(vec![shape.clone()]);
        let bases = [held.base, held.base];
        let text = outcome(&mut four, &tuple, &bases);
        assert_eq!(text, "a literal of u8[4] for a buffer of (u8[4])");
        assert_eq!(outcome(&mut four, &shape, &bases), "2 bases for a shape of 1 nodes");
        let mut short = CLiteral::new(abi, &shape, &[&[1, 2, 3]]);
        refused(&mut short, &shape, "a literal of 3 bytes for u8[4], which takes 4");
        let mut two = CLiteral::new(abi, &shape, &[&[1, 2, 3, 4], &[5]]);
        refused(&mut two, &shape, "a literal of 2 buffers for 1 arrays");
        let fields = &abi.fields.literal;
        for count in [usize::MAX, 1 << 40, 0] {
            let mut literal = CLiteral::new(abi, &shape, &[&[1, 2, 3, 4]]);
            literal.at().write(fields.count, count);
            let text = format!("a literal of {count} buffers for 1 arrays");
            refused(&mut literal, &shape, &text);
        }
        for (offset, text) in [
            (fields.buffers, "null buffers of a literal"),
            (fields.sizes, "null sizes of a literal"),
        ] {
            let mut literal = CLiteral::new(abi, &shape, &[&[1, 2, 3, 4]]);
            literal.at().write(offset, 0_usize);
            refused(&mut literal, &shape, text);
        }
        let mut literal = CLiteral::new(abi, &shape, &[&[1, 2, 3, 4]]);
        let pointers = literal.at().follow(fields.buffers, "buffers").unwrap();
        pointers.write(0, 0_usize);
        refused(&mut literal, &shape, "null a buffer of a literal");
    }

    #[test]
    fn a_part_that_does_not_fit_keeps_all_parts_from_being_written() {
        let abi = dialect();
        let shape = Shape::tuple(vec![bytes(&[4]), bytes(&[8])]);
        let blocks = [Held::new(0, 64), Held::new(0, 64), Held::new(0, 64)];
        let mut literal = CLiteral::new(abi, &shape, &[&[1; 4], &[2; 8]]);
        let bases = |index: usize, base: SE_DeviceMemoryBase| {
            let mut bases = blocks.each_ref().map(|block| block.base);
            bases[index] = base;
            bases
        };
        let sized = |index: usize, size| SE_DeviceMemoryBase { size, ..blocks[index].base };
        let at = |address: usize| SE_DeviceMemoryBase {
            opaque: ptr::without_provenance_mut(address),
            ..blocks[2].base
        };
        let elsewhere = Held::new(1, 64);
        let inside = blocks[2].base.opaque.addr();
        let cases = [
            (2, sized(2, 7), "u8[8]{0:T(", " takes 8 bytes; its buffer has 7"),
            (0, sized(0, 15), "a tuple of 2", " takes 16 bytes; its buffer has 15"),
            (2, at(0), "u8[8]{", " at 0x0, which is in no live block"),
            (2, at(0x5000), "u8[8]{", " at 0x5000, which is in no live block"),
            (0, SE_DeviceMemoryBase::NULL, "a tuple of 2", " takes 16 bytes; its buffer has 0"),
            (2, elsewhere.base, "u8[8]{", "which is on device 1, for device 0"),
        ];
        for (index, base, start, end) in cases {
            let text = outcome(&mut literal, &shape, &bases(index, base));
            assert!(text.starts_with(start) && text.ends_with(end), "{text}");
        }
        let block = crate::machine().unwrap().raw_block(inside).unwrap();
        let last = inside + to_usize(block.region().size().0) - 4;
        let text = outcome(&mut literal, &shape, &bases(2, at(last)));
        assert!(text.contains(" takes 8 bytes; the block at 0x") && text.ends_with(" has 4"));
        for block in blocks.iter().chain([&elsewhere]) {
            assert_eq!(block.bytes(64), [0xEE; 64]);
        }
    }

    #[test]
    fn the_stream_keeps_the_first_error() {
        let (abi, shape, held) = (dialect(), bytes(&[4]), Held::new(0, 1024));
        let mut good = CLiteral::new(abi, &shape, &[&[1, 2, 3, 4]]);
        let mut short = CLiteral::new(abi, &shape, &[&[1, 2, 3]]);
        let mut buffer = CShapedBuffer::new(abi, &shape, &[held.base]);
        let stream = stream(0);
        let text = put(stream, &mut short, &mut buffer);
        assert_eq!(put(stream, &mut good, &mut buffer), text);
        assert_eq!(objects::stream(stream).unwrap().outcome().unwrap_err().to_string(), text);
        assert_eq!(held.bytes(4), [0xEE; 4]);
        assert_eq!(put(self::stream(0), &mut good, &mut buffer), "");
        assert_eq!(held.bytes(5), [1, 2, 3, 4, 0xEE]);
    }
}
