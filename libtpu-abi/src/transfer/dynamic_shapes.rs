//! The extents of arrays with dynamic dimensions.
// UNSAFETY: exports a function, and follows pointers of the client.
#![expect(unsafe_code, reason = "a function of the C interface")]
use super::shaped_buffer::{ClientArray, ShapedBuffer};
use super::to_device::check_same;
use crate::abi::Abi;
use crate::boundary::report;
use crate::conversion::convert;
use crate::memory::At;
use crate::objects::{self, Executor};
use crate::shape::Shape;
use crate::sys::{SE_Stream, TF_Status, XLA_Shape, XLA_ShapedBuffer};
use tpu_emu::units::to_usize;
use tpu_emu::{Emulator, Error, Result};

/// Writes the shape with the extents that a buffer has now; it is dynamic no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuTransferManager_ReadDynamicShapes(
    stream: *mut SE_Stream,
    buffer: *mut XLA_ShapedBuffer,
    original_shape: *const XLA_Shape,
    updated_shape: *mut XLA_Shape,
    status: *mut TF_Status,
) {
    report(&"TpuTransferManager_ReadDynamicShapes", status, || {
        let stream = objects::stream(stream)?;
        stream.run(|| {
            // SAFETY: the contract of the interface.
            let buffer = unsafe { At::new(buffer.cast_const(), "buffer") }?;
            let actual = |abi: &Abi, shape| actual(abi, &stream.executor, buffer, shape);
            // SAFETY: as above.
            unsafe { convert(original_shape, updated_shape, actual) }
        })
    });
}

fn actual(abi: &Abi, executor: &Executor, buffer: At<'_>, mut shape: Shape) -> Result<Shape> {
    let buffer = ShapedBuffer::read(abi, buffer)?;
    check_same(&shape, &buffer.shape)?;
    let parts = buffer.parts(&executor.machine, executor.device)?;
    let mut parts = parts.iter();
    settle(&executor.machine, &mut shape, &mut parts)?;
    Ok(shape)
}

fn settle(
    machine: &Emulator,
    shape: &mut Shape,
    parts: &mut std::slice::Iter<'_, ClientArray>,
) -> Result<()> {
    if shape.is_tuple() {
        return shape.tuple.iter_mut().try_for_each(|part| settle(machine, part, parts));
    }
    let Some(part) = parts.next() else { return Ok(()) };
    if part.place.extents.is_some() {
        let extents = read_extents(machine, part)?;
        shape.dims = extents.into_iter().map(u64::cast_signed).collect();
        shape.dynamic.clear();
        if let Some(layout) = &mut shape.layout {
            layout.prefix_bytes = 0;
        }
    }
    Ok(())
}

/// The extents that an array has now.
///
/// # Errors
/// `BadArgument` where the block holds none that the array could have.
pub(super) fn read_extents(machine: &Emulator, part: &ClientArray) -> Result<Vec<u64>> {
    let bound = &part.spec.dims;
    let Some(at) = part.place.extents else { return Ok(bound.to_vec()) };
    let mut bytes = vec![0; 4 * bound.len()];
    machine.read_raw(part.address + to_usize(at), &mut bytes)?;
    let (numbers, _) = bytes.as_chunks::<4>();
    let extent = |(number, &bound): (&[u8; 4], &u64)| {
        let number = i32::from_le_bytes(*number);
        u64::try_from(number).ok().filter(|&extent| extent <= bound).ok_or_else(|| {
            Error::bad(format!("an extent of {number} in a dimension of at most {bound}"))
        })
    };
    numbers.iter().zip(bound).map(extent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::ROWS;
    use crate::client::{
        CLiteral, CShape, CShapedBuffer, CStatus, Held, dialect, get, put, stream,
    };
    use crate::sys::SE_DeviceMemoryBase;
    use crate::transfer::from_device::from_device;
    use crate::transfer::place::{device_shape, size_number};
    use crate::transfer::to_device::to_device;
    use std::ptr;
    use tpu_proto::xla::PrimitiveType;

    fn bytes(dims: &[i64]) -> Shape {
        Shape::array(PrimitiveType::U8 as i32, dims.to_vec())
    }

    /// Rows up to 4, columns 3; on the device.
    fn dynamic(abi: &Abi) -> (Shape, Held) {
        let shape = Shape { dynamic: vec![true, false], ..bytes(&[4, 3]) };
        let machine = crate::machine().unwrap();
        let shape = device_shape(abi, &shape, machine.specs()).unwrap();
        let held = Held::new(0, size_number(&shape, machine.specs()).unwrap());
        (shape, held)
    }

    fn read_shape(shape: &Shape, bases: &[SE_DeviceMemoryBase]) -> Result<Shape, String> {
        let (abi, status) = (dialect(), CStatus::new());
        let mut buffer = CShapedBuffer::new(abi, shape, bases);
        let (mut original, mut updated) = (CShape::of(abi, shape), CShape::unwritten(abi));
        let (original, place) = (original.pointer::<XLA_Shape>().cast_const(), updated.pointer());
        let read = TpuTransferManager_ReadDynamicShapes;
        // SAFETY: structs of the dialect.
        unsafe { read(stream(0), buffer.pointer(), original, place, status.0) };
        let text = status.text();
        if text.is_empty() { Ok(updated.take()) } else { Err(text) }
    }

    #[test]
    fn a_literal_of_fewer_rows_comes_back_with_its_extents() {
        let abi = dialect();
        let (shape, held) = dynamic(abi);
        let mut buffer = CShapedBuffer::new(abi, &shape, &[held.base]);
        for rows in [2, 4, 0, 1] {
            let elements: Vec<u8> = (1..=rows * 3).collect();
            let own = bytes(&[rows.into(), 3]);
            let mut literal = CLiteral::new(abi, &own, &[&elements]);
            assert_eq!(put(stream(0), &mut literal, &mut buffer), "");
            let actual = read_shape(&shape, &[held.base]).unwrap();
            assert_eq!((&actual.dims, actual.is_dynamic()), (&own.dims, false));
            let mut layout = shape.layout.clone().unwrap();
            layout.prefix_bytes = 0;
            assert_eq!(actual.layout, Some(layout));
            let mut back = CLiteral::new(abi, &own, &[&vec![0; elements.len()]]);
            assert_eq!(get(stream(0), &mut buffer, &mut back), "");
            assert_eq!(back.buffers[0], elements);
            let mut whole = CLiteral::new(abi, &bytes(&[4, 3]), &[&[9; 12]]);
            assert_eq!(get(stream(0), &mut buffer, &mut whole), "");
            assert_eq!(whole.buffers[0][..elements.len()], elements);
        }
        let mut three = CLiteral::new(abi, &bytes(&[3, 3]), &[&[0; 9]]);
        let text = get(stream(0), &mut buffer, &mut three);
        assert_eq!(text, "a literal of [3, 3] for an array of [1, 3]");
        for dims in [&[5, 3], &[4, 2]] {
            let count = usize::try_from(dims.iter().product::<i64>()).unwrap();
            let mut other = CLiteral::new(abi, &bytes(dims), &[&vec![0; count]]);
            let text = put(stream(0), &mut other, &mut buffer);
            assert!(text.ends_with(" for a buffer of u8[<=4,3]"), "{text}");
        }
    }

    #[test]
    fn extents_have_a_place_in_every_dialect() {
        let executor = Executor { machine: crate::machine().unwrap(), device: 0 };
        for abi in ROWS {
            let (shape, held) = dynamic(abi);
            let size = usize::try_from(held.base.size).unwrap();
            let shape = Shape::tuple(vec![bytes(&[1]), shape]);
            let (table, other) = (Held::new(0, 16), Held::new(0, 1024));
            let bases = [table.base, other.base, held.base];
            let mut buffer = CShapedBuffer::new(abi, &shape, &bases);
            let own = Shape::tuple(vec![bytes(&[1]), bytes(&[2, 3])]);
            let leaves: [&[u8]; 2] = [&[8], &[1, 2, 3, 4, 5, 6]];
            let mut literal = CLiteral::new(abi, &own, &leaves);
            to_device(abi, &executor, literal.at(), buffer.at()).unwrap();
            let all = held.bytes(size);
            let (elements, extents) = match abi.fields.layout.dynamic_shape_metadata_prefix_bytes {
                Some(_) => (512, 0),
                None => (0, size - 512),
            };
            assert_eq!(all[elements..elements + 6], *leaves[1], "{}", abi.name);
            assert_eq!(all[extents..extents + 9], [2, 0, 0, 0, 3, 0, 0, 0, 0xEE]);
            let shape = actual(abi, &executor, buffer.at(), shape).unwrap();
            assert_eq!((&shape.tuple[0].dims, &shape.tuple[1].dims), (&vec![1], &vec![2, 3]));
            let mut back = CLiteral::new(abi, &own, &[&[0], &[0; 6]]);
            from_device(abi, &executor, buffer.at(), back.at()).unwrap();
            assert_eq!(back.buffers, leaves);
        }
    }

    #[test]
    fn extents_that_nobody_wrote_are_refused() {
        let (shape, held) = dynamic(dialect());
        let text = read_shape(&shape, &[held.base]).unwrap_err();
        assert_eq!(text, "an extent of -286331154 in a dimension of at most 4");
        let short = SE_DeviceMemoryBase { size: 7, ..held.base };
        let text = read_shape(&shape, &[short]).unwrap_err();
        assert!(text.ends_with(" takes 524 bytes; its buffer has 7"), "{text}");
        let fixed = bytes(&[4, 3]);
        assert_eq!(read_shape(&fixed, &[held.base]), Ok(fixed));
        let status = CStatus::new();
        let read = TpuTransferManager_ReadDynamicShapes;
        // SAFETY: null is refused.
        unsafe {
            read(stream(0), ptr::null_mut(), ptr::null(), ptr::null_mut(), status.0);
        }
        assert_eq!(status.text(), "null buffer");
    }
}
