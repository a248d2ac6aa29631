//! `HardwareLayout_*`: shapes and sizes of one kind of TPU, whatever the machine is.
// UNSAFETY: exports functions, and follows pointers of the client.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::abi::{self, Abi};
use crate::boundary::answer;
use crate::conversion::{convert, refused};
use crate::layout::CLayout;
use crate::memory::At;
use crate::shape::Shape;
use crate::sys::XLA_Shape;
use crate::transfer::place::{device_shape, each_array, size_number};
use crate::transfer::shapes::NO_SIZE;
use std::sync::LazyLock;
use tpu_emu::Result;
use tpu_emu::hbm::layout::TileRules;
use tpu_emu::hbm::spec::Specs;

/// The rules of the kind that the real library takes where it was told none.
static SPECS: LazyLock<Specs> = LazyLock::new(|| Specs::new(TileRules::V2));

/// The shape on the device; an array without an order is row-major there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HardwareLayout_HostShapeToDeviceShape(
    host_shape: *mut XLA_Shape,
    device_shape: *mut XLA_Shape,
) {
    answer(&"HardwareLayout_HostShapeToDeviceShape", (), || {
        // SAFETY: the contract of the interface.
        unsafe { refused(device_shape, || convert(host_shape, device_shape, on_device)) }
    });
}

fn on_device(abi: &Abi, shape: Shape) -> Result<Shape> {
    device_shape(abi, &ordered(&shape)?, &SPECS)
}

/// The shape with an order for every array.
fn ordered(shape: &Shape) -> Result<Shape> {
    each_array(shape, &|array| {
        let layout = array.layout.clone();
        let layout = layout.unwrap_or_else(|| CLayout::row_major(array.dims.len()));
        Ok(Shape { layout: Some(layout), ..array.clone() })
    })
}

unsafe fn read(shape: *const XLA_Shape) -> Result<Shape> {
    // SAFETY: the promise of this function's caller.
    let at = unsafe { At::new(shape, "shape") }?;
    ordered(&Shape::read(abi::current()?, at)?)
}

/// Bytes on the device, padding and dynamic extents included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HardwareLayout_ShapeSize(shape: *mut XLA_Shape) -> i64 {
    // SAFETY: the contract of the interface.
    let size = || size_number(&unsafe { read(shape.cast_const()) }?, &SPECS);
    answer(&"HardwareLayout_ShapeSize", NO_SIZE, size)
}

/// Bytes of an array in compact form, which all layouts here are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HardwareLayout_ShapeSizeCompact(shape: *mut XLA_Shape) -> i64 {
    // SAFETY: the contract of the interface.
    let size = || size_number(&unsafe { read(shape.cast_const()) }?, &SPECS);
    answer(&"HardwareLayout_ShapeSizeCompact", NO_SIZE, size)
}

/// Bytes of an array in compact form, without the numbers of its dynamic extents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HardwareLayout_ShapeSizeCompactRaw(shape: *mut XLA_Shape) -> i64 {
    answer(&"HardwareLayout_ShapeSizeCompactRaw", NO_SIZE, || {
        // SAFETY: the contract of the interface.
        let shape = unsafe { read(shape.cast_const()) }?;
        let fixed =
            each_array(&shape, &|array| Ok(Shape { dynamic: Vec::new(), ..array.clone() }))?;
        size_number(&fixed, &SPECS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::ROWS;
    use crate::client::{CShape, dialect};
    use tpu_emu::hbm::layout::Layout;
    use tpu_emu::tensor::DType;
    use tpu_proto::xla::PrimitiveType;

    /// What the real library said: the array without a layout, that on the device, its bytes.
    fn recorded() -> Vec<(Shape, Shape, i64)> {
        let rows = include_str!("../tests/data/hardware_layouts.txt").lines();
        let rows = rows.filter(|row| !row.starts_with('#')).map(|row| {
            let (shape, bytes) = row.split_once(' ').unwrap();
            let (name, rest) = shape.split_once('[').unwrap();
            let (dims, layout) = rest.split_once(']').unwrap();
            let dtype = DType::ALL.iter().find(|dtype| dtype.name() == name).unwrap();
            let dims = dims.split(',').filter(|dim| !dim.is_empty());
            let dims = dims.map(|dim| dim.parse().unwrap()).collect();
            let host = Shape::array(crate::shape::number(*dtype).unwrap(), dims);
            let layout = Some(CLayout::of(&Layout::parse(layout).unwrap()));
            (host.clone(), Shape { layout, ..host }, bytes.parse().unwrap())
        });
        rows.collect()
    }

    fn device(host: &Shape) -> Shape {
        let abi = dialect();
        let (mut host, mut device) = (CShape::of(abi, host), CShape::unwritten(abi));
        // SAFETY: shapes of the dialect.
        unsafe { HardwareLayout_HostShapeToDeviceShape(host.pointer(), device.pointer()) };
        device.take()
    }

    fn sizes(shape: &Shape) -> [i64; 3] {
        let mut shape = CShape::of(dialect(), shape);
        // SAFETY: shapes of the dialect.
        unsafe {
            [
                HardwareLayout_ShapeSize(shape.pointer()),
                HardwareLayout_ShapeSizeCompact(shape.pointer()),
                HardwareLayout_ShapeSizeCompactRaw(shape.pointer()),
            ]
        }
    }

    #[test]
    fn shapes_and_sizes_are_those_that_the_real_library_gave() {
        let rows = recorded();
        assert_eq!(rows.len(), 546);
        for (host, on_device, bytes) in rows {
            let ordered = ordered(&host).unwrap();
            assert_eq!(device(&ordered), on_device);
            assert_eq!(device(&host), on_device);
            assert_eq!(sizes(&on_device), [bytes; 3], "{on_device:?}");
            assert_eq!(sizes(&ordered), [bytes; 3], "{ordered:?}");
        }
    }

    #[test]
    fn shapes_and_sizes_are_the_same_in_all_dialects() {
        let rows = recorded();
        for abi in ROWS {
            for (host, expected, bytes) in &rows {
                let host = CShape::of(abi, &ordered(host).unwrap()).take();
                let on_device = CShape::of(abi, &on_device(abi, host).unwrap()).take();
                // A scalar has no order, so the dialect without a word for it loses its layout.
                if abi.fields.shape.has_layout.is_some() || !expected.dims.is_empty() {
                    assert_eq!(&on_device, expected, "{}", abi.name);
                }
                assert_eq!(size_number(&ordered(&on_device).unwrap(), &SPECS), Ok(*bytes));
            }
        }
    }

    #[test]
    fn a_tuple_has_its_parts_laid_out_and_the_size_of_its_table() {
        let f32 = PrimitiveType::F32 as i32;
        let array = Shape::array(f32, vec![2, 3]);
        let token = Shape::array(PrimitiveType::Token as i32, Vec::new());
        let tuple = Shape::tuple(vec![array.clone(), token.clone(), Shape::tuple(Vec::new())]);
        let on_device = device(&tuple);
        assert_eq!(on_device.tuple[0], device(&array));
        assert_eq!(on_device.tuple[1..], tuple.tuple[1..]);
        assert_eq!(sizes(&on_device), [24; 3]);
        assert_eq!(sizes(&token), [0; 3]);
    }

    #[test]
    fn extents_count_except_in_the_raw_size() {
        let dynamic = vec![true, false];
        let shape = Shape { dynamic, ..Shape::array(PrimitiveType::F32 as i32, vec![8, 128]) };
        assert_eq!(sizes(&shape), [4096 + 512, 4096 + 512, 4096]);
        let on_device = device(&shape);
        assert_eq!(on_device.layout.as_ref().unwrap().prefix_bytes, 512);
        assert_eq!(sizes(&on_device), [4096 + 512, 4096 + 512, 4096]);
    }

    #[test]
    fn what_is_no_shape_has_no_size_and_no_shape_on_the_device() {
        let opaque = Shape::array(PrimitiveType::OpaqueType as i32, Vec::new());
        let invalid = Shape::array(PrimitiveType::Invalid as i32, Vec::new());
        let negative = Shape::array(PrimitiveType::F32 as i32, vec![-1]);
        let large = Shape::array(PrimitiveType::F32 as i32, vec![i64::MAX, i64::MAX]);
        for shape in [&opaque, &invalid, &negative, &large] {
            assert_eq!(sizes(shape), [NO_SIZE; 3], "{shape:?}");
        }
        assert_eq!(device(&opaque), opaque);
        for shape in [&invalid, &negative, &large] {
            assert_eq!(device(shape), invalid);
        }
        // SAFETY: null is refused.
        unsafe {
            HardwareLayout_HostShapeToDeviceShape(std::ptr::null_mut(), std::ptr::null_mut());
            assert_eq!(HardwareLayout_ShapeSize(std::ptr::null_mut()), NO_SIZE);
            assert_eq!(HardwareLayout_ShapeSize(std::ptr::without_provenance_mut(4)), NO_SIZE);
        }
    }
}
