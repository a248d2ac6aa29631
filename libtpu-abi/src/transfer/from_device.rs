//! Literals from the device.
// UNSAFETY: exports a function, follows pointers of the client and calls it back.
#![expect(unsafe_code, reason = "a function of the C interface")]
use super::dynamic_shapes::read_extents;
use super::literal::{Leaf, Literal};
use super::manager;
use super::shaped_buffer::{ClientArray, ShapedBuffer};
use super::to_device::check_same;
use crate::abi::{self, Abi};
use crate::memory::At;
use crate::objects::{self, Executor};
use crate::status;
use crate::sys::{
    SE_Stream, XLA_Literal, XLA_ShapedBuffer, XLA_StatusCallbackFn, XLA_TransferManager,
};
use std::ffi::c_void;
use tpu_emu::entry::{self, FunctionName};
use tpu_emu::tensor::pack::unpack;
use tpu_emu::units::to_usize;
use tpu_emu::{Emulator, Error, Result};

const NAME: FunctionName = &"TpuTransferManager_TransferLiteralFromDevice";

/// Copies arrays of the device to a literal, then calls `callback` once with the outcome.
///
/// The error of a failed stream is the outcome; an error of this copy does not fail the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuTransferManager_TransferLiteralFromDevice(
    manager: *mut XLA_TransferManager,
    stream: *mut SE_Stream,
    device_buffer: *mut XLA_ShapedBuffer,
    literal: *mut XLA_Literal,
    callback: XLA_StatusCallbackFn,
    ctx: *mut c_void,
) {
    let outcome = entry::enter(NAME, || {
        manager::check(manager)?;
        let stream = objects::stream(stream)?;
        stream.outcome()?;
        // SAFETY: the contract of the interface.
        let buffer = unsafe { At::new(device_buffer.cast_const(), "device_buffer") }?;
        // SAFETY: as above.
        let literal = unsafe { At::new(literal.cast_const(), "literal") }?;
        from_device(abi::current()?, &stream.executor, buffer, literal)
    });
    match (callback, outcome) {
        // SAFETY: the contract of the interface; the callback frees the status.
        (Some(callback), outcome) => unsafe {
            callback(ctx, status::give(outcome.as_ref().copied()));
        },
        (None, Ok(())) => {}
        (None, Err(error)) => tpu_host::tell(&format!("{NAME}: {error}")),
    }
}

pub(super) fn from_device(
    abi: &Abi,
    executor: &Executor,
    buffer: At<'_>,
    literal: At<'_>,
) -> Result<()> {
    let (machine, device) = (&executor.machine, executor.device);
    let literal = Literal::read(abi, literal)?;
    let buffer = ShapedBuffer::read(abi, buffer)?;
    check_same(&literal.shape, &buffer.shape)?;
    for (leaf, part) in literal.leaves.iter().zip(&buffer.parts(machine, device)?) {
        read(machine, leaf, part)?;
    }
    Ok(())
}

fn read(machine: &Emulator, leaf: &Leaf, part: &ClientArray) -> Result<()> {
    let bound = &part.spec.dims;
    if leaf.dims[..] != bound[..] {
        let extents = read_extents(machine, part)?;
        if leaf.dims != extents {
            let dims = &leaf.dims;
            return Err(Error::bad(format!("a literal of {dims:?} for an array of {extents:?}")));
        }
    }
    let at = part.address + to_usize(part.place.elements);
    leaf.fill(bound, |elements| {
        let bits = part.spec.dtype.element().bits;
        if bits >= 8 {
            return machine.read_raw(at, elements);
        }
        let mut packed = vec![0; to_usize(part.spec.logical.0)];
        machine.read_raw(at, &mut packed)?;
        unpack(bits, &packed, elements);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::abi::{Abi, ROWS};
    use crate::client::{CLiteral, CShapedBuffer, Held, dialect, get, put, stream};
    use crate::layout::CLayout;
    use crate::objects::Executor;
    use crate::shape::{Shape, number};
    use crate::sys::{SE_DeviceMemoryBase, SE_Stream};
    use crate::transfer::place::{device_shape, size_number};
    use crate::transfer::to_device;
    use std::ptr;
    use tpu_emu::tensor::DType;
    use tpu_proto::xla::PrimitiveType;

    fn array(dtype: DType, dims: &[i64]) -> Shape {
        Shape::array(number(dtype).unwrap(), dims.to_vec())
    }

    fn ordered(shape: &Shape, order: &[i64]) -> Shape {
        let layout = CLayout { minor_to_major: order.to_vec(), ..CLayout::row_major(0) };
        Shape { layout: Some(layout), ..shape.clone() }
    }

    /// The shape on the device, and blocks for its nodes.
    fn on_device(abi: &Abi, shape: &Shape, device: usize) -> (Shape, Vec<Held>) {
        let machine = crate::machine().unwrap();
        let shape = device_shape(abi, shape, machine.specs()).unwrap();
        let size = |node: &&Shape| size_number(node, machine.specs()).unwrap().max(1);
        let blocks = shape.nodes().iter().map(|node| Held::new(device, size(node))).collect();
        (shape, blocks)
    }

    fn bases(blocks: &[Held]) -> Vec<SE_DeviceMemoryBase> {
        blocks.iter().map(|block| block.base).collect()
    }

    #[test]
    fn arrays_of_every_type_and_shape_come_back() {
        let abi = dialect();
        for &dtype in DType::ALL {
            if number(dtype).is_err() || dtype == DType::Token {
                continue;
            }
            for dims in [&[][..], &[5], &[2, 3], &[0, 4], &[3, 1, 7], &[1, 2, 1, 2, 1, 2, 3]] {
                let shape = array(dtype, dims);
                let count = usize::try_from(dims.iter().product::<i64>()).unwrap();
                let mask = u8::MAX >> (8 - dtype.element().bits.min(8));
                let bytes = (1..=u8::MAX).cycle().take(count * dtype.host_bytes());
                let bytes: Vec<u8> = bytes.map(|byte| byte & mask).collect();
                let (device, blocks) = on_device(abi, &shape, 0);
                let mut buffer = CShapedBuffer::new(abi, &device, &bases(&blocks));
                let mut literal = CLiteral::new(abi, &shape, &[&bytes]);
                assert_eq!(put(stream(0), &mut literal, &mut buffer), "");
                let mut back = CLiteral::new(abi, &shape, &[&vec![0; bytes.len()]]);
                assert_eq!(get(stream(0), &mut buffer, &mut back), "");
                assert_eq!(back.buffers, [bytes], "{}", device.text());
            }
        }
    }

    #[test]
    fn each_literal_has_the_order_of_its_own_layout() {
        let abi = dialect();
        let shape = array(DType::U8, &[2, 3]);
        let (device, blocks) = on_device(abi, &ordered(&shape, &[0, 1]), 0);
        let mut buffer = CShapedBuffer::new(abi, &device, &bases(&blocks));
        let mut columns = CLiteral::new(abi, &ordered(&shape, &[0, 1]), &[&[1, 4, 2, 5, 3, 6]]);
        assert_eq!(put(stream(0), &mut columns, &mut buffer), "");
        assert_eq!(blocks[0].bytes(7), [1, 2, 3, 4, 5, 6, 0xEE]);
        let mut rows = CLiteral::new(abi, &ordered(&shape, &[1, 0]), &[&[0; 6]]);
        assert_eq!(get(stream(0), &mut buffer, &mut rows), "");
        assert_eq!(rows.buffers, [[1, 2, 3, 4, 5, 6]]);
        let mut columns = CLiteral::new(abi, &ordered(&shape, &[0, 1]), &[&[0; 6]]);
        assert_eq!(get(stream(0), &mut buffer, &mut columns), "");
        assert_eq!(columns.buffers, [[1, 4, 2, 5, 3, 6]]);
    }

    #[test]
    fn elements_below_a_byte_are_packed_on_the_device() {
        let abi = dialect();
        let shape = array(DType::U4, &[2, 3]);
        let (device, blocks) = on_device(abi, &shape, 0);
        let mut buffer = CShapedBuffer::new(abi, &device, &bases(&blocks));
        let mut literal = CLiteral::new(abi, &shape, &[&[1, 2, 3, 4, 5, 6]]);
        assert_eq!(put(stream(0), &mut literal, &mut buffer), "");
        assert_eq!(blocks[0].bytes(4), [0x21, 0x43, 0x65, 0xEE]);
        let mut columns = CLiteral::new(abi, &ordered(&shape, &[0, 1]), &[&[0; 6]]);
        assert_eq!(get(stream(0), &mut buffer, &mut columns), "");
        assert_eq!(columns.buffers, [[1, 4, 2, 5, 3, 6]]);
    }

    #[test]
    fn tuples_in_tuples_go_round_in_every_dialect() {
        let token = Shape::array(PrimitiveType::Token as i32, Vec::new());
        let inner = Shape::tuple(vec![array(DType::U8, &[2]), Shape::tuple(Vec::new()), token]);
        let outer = Shape::tuple(vec![array(DType::S16, &[1]), inner, array(DType::U8, &[])]);
        let executor = Executor { machine: crate::machine().unwrap(), device: 0 };
        for abi in ROWS {
            let (device, blocks) = on_device(abi, &outer, 0);
            let mut buffer = CShapedBuffer::new(abi, &device, &bases(&blocks));
            let leaves: [&[u8]; 4] = [&[1, 2], &[3, 4], &[], &[5]];
            let mut literal = CLiteral::new(abi, &outer, &leaves);
            to_device::to_device(abi, &executor, literal.at(), buffer.at()).unwrap();
            let addresses = |of: &[usize]| -> Vec<u8> {
                let address = |&node: &usize| blocks[node].base.opaque.addr().to_le_bytes();
                of.iter().flat_map(address).collect()
            };
            assert_eq!(blocks[0].bytes(24), addresses(&[1, 2, 6]));
            assert_eq!(blocks[2].bytes(24), addresses(&[3, 4, 5]));
            let mut back = CLiteral::new(abi, &outer, &[&[0; 2], &[0; 2], &[], &[0]]);
            super::from_device(abi, &executor, buffer.at(), back.at()).unwrap();
            assert_eq!(back.buffers, leaves, "{}", abi.name);
        }
    }

    #[test]
    fn the_callback_gets_the_error_and_the_stream_goes_on() {
        let abi = dialect();
        let shape = array(DType::U8, &[4]);
        let (device, blocks) = on_device(abi, &shape, 0);
        let mut buffer = CShapedBuffer::new(abi, &device, &bases(&blocks));
        let mut other = CLiteral::new(abi, &array(DType::U8, &[3]), &[&[7; 3]]);
        let mut same = CLiteral::new(abi, &shape, &[&[0; 4]]);
        let stream = stream(0);
        let expected = "a literal of u8[3] for a buffer of u8[4]";
        assert_eq!(get(stream, &mut buffer, &mut other), expected);
        assert_eq!(other.buffers, [[7; 3]]);
        assert_eq!(get(stream, &mut buffer, &mut same), "");
        assert_eq!(same.buffers, [[0xEE; 4]]);
        assert_eq!(get(ptr::null_mut::<SE_Stream>(), &mut buffer, &mut same), "null SE_Stream");
        let stale = ptr::without_provenance_mut(0x77);
        assert!(get(stale, &mut buffer, &mut same).contains("stale"));
        // A transfer to the device that fails leaves its error in the stream.
        assert_eq!(put(stream, &mut other, &mut buffer), expected);
        assert_eq!(get(stream, &mut buffer, &mut same), expected);
    }

    #[test]
    fn a_callback_is_called_for_null_structs_and_none_is_no_crash() {
        let (manager, stream) = (crate::TpuTransferManager_New(), stream(0));
        let abi = dialect();
        let mut buffer = CShapedBuffer::new(abi, &Shape::tuple(Vec::new()), &[]);
        let mut literal = CLiteral::new(abi, &Shape::tuple(Vec::new()), &[]);
        let null = SE_DeviceMemoryBase::NULL;
        let text = get(stream, &mut buffer, &mut literal);
        assert_eq!(text, "0 bases for a shape of 1 nodes");
        let mut buffer = CShapedBuffer::new(abi, &Shape::tuple(Vec::new()), &[null]);
        assert_eq!(get(stream, &mut buffer, &mut literal), "");
        // SAFETY: null is refused, and there is no callback.
        unsafe {
            let get = super::TpuTransferManager_TransferLiteralFromDevice;
            get(manager, stream, ptr::null_mut(), ptr::null_mut(), None, ptr::null_mut());
        }
    }
}
