//! Literals as the bytes that a device would hold.
// UNSAFETY: exports functions, and follows pointers of the client.
#![expect(unsafe_code, reason = "functions of the C interface")]
use super::literal::Literal;
use super::manager;
use super::place::device_shape;
use super::to_device::{check_same, packed};
use crate::abi::{self, Abi};
use crate::boundary::{answer, report};
use crate::memory::{self, At, count_of, given, take_back};
use crate::shape::Shape;
use crate::sys::{TF_Status, XLA_Literal, XLA_TransferManager};
use std::ffi::{c_char, c_void};
use tpu_emu::hbm::spec::Specs;
use tpu_emu::units::to_usize;
use tpu_emu::{Error, Result};

/// Gives one buffer an array of the literal, padded to tiles, with the bytes of the device.
///
/// From TensorFlow 2.15 on the third argument is the shape on the device, and the others move by
/// one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuTransferManager_LinearizeToBuffers(
    manager: *mut XLA_TransferManager,
    c_literal: *mut XLA_Literal,
    third: *mut c_void,
    fourth: *mut c_void,
    fifth: *mut c_void,
    sixth: *mut c_void,
    seventh: *mut c_void,
) {
    let takes_shape = abi::current().is_ok_and(|abi| abi.calls.linearize_takes_shape);
    let (shape, places, status) = arguments(takes_shape, [third, fourth, fifth, sixth, seventh]);
    report(&"TpuTransferManager_LinearizeToBuffers", status.cast::<TF_Status>(), || {
        manager::check(manager)?;
        let abi = abi::current()?;
        // SAFETY: the contract of the interface.
        let literal = unsafe { At::new(c_literal.cast_const(), "c_literal") }?;
        let shape = match shape {
            Some(shape) => {
                // SAFETY: as above.
                let at = unsafe { At::new(shape.cast_const(), "c_device_shape") }?;
                Some(Shape::read(abi, at)?)
            }
            None => None,
        };
        let [array, sizes, count] = places;
        if places.iter().any(|place| place.is_null()) {
            return Err(Error::Null("a result of LinearizeToBuffers"));
        }
        let buffers = linear(abi, crate::machine()?.specs(), literal, shape.as_ref())?;
        let (pointers, numbers) = (given(buffers.len(), 8), given(buffers.len(), 8));
        for (index, buffer) in buffers.iter().enumerate() {
            pointers.write(index * 8, memory::given_bytes(buffer));
            numbers.write(index * 8, buffer.len());
        }
        // SAFETY: not null, checked above; the contract of the interface.
        unsafe {
            memory::put(array.cast(), pointers.address(), "buffers_array")?;
            memory::put(sizes.cast(), numbers.address(), "buffers_size")?;
            memory::put(count.cast(), buffers.len(), "buffers_array_size")
        }
    });
}

/// The shape, the three places for results and the status, out of the arguments from the third on.
fn arguments(
    takes_shape: bool,
    [third, fourth, fifth, sixth, seventh]: [*mut c_void; 5],
) -> (Option<*mut c_void>, [*mut c_void; 3], *mut c_void) {
    if takes_shape {
        return (Some(third), [fourth, fifth, sixth], seventh);
    }
    (None, [third, fourth, fifth], sixth)
}

fn linear(
    abi: &Abi,
    specs: &Specs,
    literal: At<'_>,
    shape: Option<&Shape>,
) -> Result<Vec<Vec<u8>>> {
    let literal = Literal::read(abi, literal)?;
    let shape = shape.unwrap_or(&literal.shape);
    check_same(&literal.shape, shape)?;
    let shape = device_shape(abi, shape, specs)?;
    if shape.is_dynamic() {
        let shape = shape.text();
        return Err(Error::Unimplemented(format!("linear buffers of {shape}, which is dynamic")));
    }
    let leaves = literal.leaves.iter().zip(shape.leaves());
    leaves
        .map(|(leaf, shape)| {
            let spec = shape.spec(specs)?;
            leaf.give(&spec.dims, |elements| {
                packed(&spec, elements, |bytes| {
                    let mut bytes = bytes.to_vec();
                    bytes.resize(to_usize(spec.padded.0.max(spec.logical.0)), 0);
                    Ok(bytes)
                })
            })
        })
        .collect()
}

/// Frees what `LinearizeToBuffers` gave; null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuTransferManager_FreeBuffers(
    buffers_array: *mut *mut c_char,
    buffers_size: *mut i64,
    buffers_array_size: i64,
) {
    answer(&"TpuTransferManager_FreeBuffers", (), || {
        let count = if buffers_array.is_null() { 0 } else { buffers_array_size };
        let count = count_of(count, "buffers")?;
        // SAFETY: the contract of the interface: they came from `LinearizeToBuffers`.
        unsafe {
            for &buffer in memory::slice(buffers_array.cast_const(), count, "buffers_array")? {
                take_back(buffer);
            }
            take_back(buffers_array);
            take_back(buffers_size);
        }
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::ROWS;
    use crate::client::{CLiteral, CStatus, dialect};
    use crate::layout::CLayout;
    use crate::shape::number;
    use std::ptr;
    use tpu_emu::tensor::DType;

    #[test]
    fn each_array_is_a_buffer_with_the_bytes_of_the_device() {
        let abi = dialect();
        let order = CLayout { minor_to_major: vec![0, 1], ..CLayout::row_major(0) };
        let columns =
            Shape { layout: Some(order), ..Shape::array(number(DType::U8).unwrap(), vec![2, 2]) };
        let packed = Shape::array(number(DType::U4).unwrap(), vec![3]);
        let shape = Shape::tuple(vec![columns, packed, Shape::tuple(Vec::new())]);
        let mut literal = CLiteral::new(abi, &shape, &[&[1, 2, 3, 4], &[5, 6, 7]]);
        let (manager, status) = (crate::TpuTransferManager_New(), CStatus::new());
        let (mut array, mut sizes, mut count) =
            (ptr::null_mut::<*mut c_char>(), ptr::null_mut::<i64>(), -1_i64);
        let literal = literal.pointer();
        // SAFETY: the arguments of the dialect, whose last one is not passed.
        unsafe {
            TpuTransferManager_LinearizeToBuffers(
                manager,
                literal,
                (&raw mut array).cast(),
                (&raw mut sizes).cast(),
                (&raw mut count).cast(),
                status.0.cast(),
                ptr::without_provenance_mut(3),
            );
        }
        assert_eq!((status.text().as_str(), count), ("", 2));
        let (expected, specs) = ([vec![1, 3, 2, 4], vec![0x65, 0x07]], crate::machine().unwrap());
        for (index, (expected, shape)) in expected.iter().zip(shape.leaves()).enumerate() {
            let padded = shape.spec(specs.specs()).unwrap().padded;
            // SAFETY: the arrays have these items.
            let (buffer, size) = unsafe { (*array.add(index), *sizes.add(index)) };
            assert_eq!(size, padded.0.cast_signed());
            // SAFETY: as above.
            let bytes =
                unsafe { memory::slice(buffer.cast::<u8>().cast_const(), to_usize(padded.0), "") };
            let (elements, padding) = bytes.unwrap().split_at(expected.len());
            assert_eq!(elements, expected);
            assert!(padding.iter().all(|&byte| byte == 0));
        }
        // SAFETY: what was given is given back.
        unsafe { TpuTransferManager_FreeBuffers(array, sizes, count) };
    }

    #[test]
    fn later_dialects_name_the_shape_first() {
        let places = [1, 2, 3, 4, 5].map(ptr::without_provenance_mut::<c_void>);
        let [first, second, third, fourth, fifth] = places;
        for abi in ROWS {
            let expected = match abi.name {
                "jaxlib-0.4.13" | "tf-2.7" | "tf-2.13" | "tf-2.14" => {
                    (None, [first, second, third], fourth)
                }
                _ => (Some(first), [second, third, fourth], fifth),
            };
            assert_eq!(arguments(abi.calls.linearize_takes_shape, places), expected);
        }
    }

    #[test]
    fn the_shape_on_the_device_says_the_size() {
        let machine = crate::machine().unwrap();
        let abi = dialect();
        let shape = Shape::array(number(DType::U8).unwrap(), vec![4]);
        let layout = CLayout { tiles: vec![vec![2048]], ..CLayout::row_major(1) };
        let tiled = Shape { layout: Some(layout), ..shape.clone() };
        let mut literal = CLiteral::new(abi, &shape, &[&[1, 2, 3, 4]]);
        let buffers = linear(abi, machine.specs(), literal.at(), Some(&tiled)).unwrap();
        assert_eq!(buffers.iter().map(Vec::len).collect::<Vec<_>>(), [2048]);
        let other = Shape::array(number(DType::U8).unwrap(), vec![5]);
        let refused = linear(abi, machine.specs(), literal.at(), Some(&other)).unwrap_err();
        assert_eq!(refused.to_string(), "a literal of u8[4] for a buffer of u8[5]");
        let dynamic = Shape { dynamic: vec![true], ..shape };
        let refused = linear(abi, machine.specs(), literal.at(), Some(&dynamic)).unwrap_err();
        assert_eq!(refused.to_string(), "linear buffers of u8[<=4], which is dynamic");
    }

    #[test]
    fn places_that_are_null_are_refused_and_nothing_is_freed_twice() {
        let (abi, status) = (dialect(), CStatus::new());
        let mut literal = CLiteral::new(abi, &Shape::tuple(Vec::new()), &[]);
        let (manager, null) = (crate::TpuTransferManager_New(), ptr::null_mut());
        let linearize = TpuTransferManager_LinearizeToBuffers;
        // SAFETY: null is refused.
        unsafe {
            linearize(manager, literal.pointer(), null, null, null, status.0.cast(), null);
            TpuTransferManager_FreeBuffers(ptr::null_mut(), ptr::null_mut(), 7);
        }
        assert_eq!(status.text(), "null a result of LinearizeToBuffers");
    }
}
