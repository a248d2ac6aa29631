//! Client memory to device memory, through the table.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{Array, F32, S32, U8, destroy, get, ordered, put_bytes, strided, tiled, tiles_of};
use c::contract::contract;
use c::{Client, INVALID, assert_refused, call, is_ready, wait};
use pjrt_sys::{PJRT_Buffer, PJRT_Buffer_Type};

/// Bytes of an element in client memory by the number of its type; sub-byte types take one.
const WIDTHS: [usize; 34] = [
    0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1,
];

/// Bits of an element by the number of its type, where they are less than a byte.
fn narrow(number: u32) -> Option<u32> {
    match number {
        21 | 22 | 29 => Some(4),
        24 | 25 => Some(2),
        30 | 31 => Some(1),
        _ => None,
    }
}

/// `count` elements of many values. Narrow ones are in the low bits of their bytes, and the
/// high ones are 0, as the library gives them back.
fn elements(number: u32, count: usize) -> Vec<u8> {
    let bytes = (0..count * WIDTHS[number as usize]).map(|at| u8::try_from(at * 37 % 251).unwrap());
    let mask = narrow(number).map_or(u8::MAX, |bits| (1 << bits) - 1);
    bytes.map(|byte| byte & mask).collect()
}

#[test]
fn the_function_keeps_the_contract() {
    let client = Client::new();
    let memory = client.hbm(0);
    let bytes = [1_u8; 4];
    contract!(PJRT_Client_BufferFromHostBuffer(client, buffer),
    client: client.raw, memory: memory, type_: U8, dims: &raw const FOUR, num_dims: 1,
    data: c::user_pointer(&bytes)
    => |args| {
        wait(args.done_with_host_buffer).unwrap();
        destroy(args.buffer);
    });
    contract!(PJRT_Client_CreateUninitializedBuffer(client, buffer),
        client: client.raw, memory: memory, shape_element_type: U8, shape_dims: &raw const FOUR,
        shape_num_dims: 1
        => |args| destroy(args.buffer));
    contract!(PJRT_Client_CreateErrorBuffer(client, buffer),
        client: client.raw, memory: memory, shape_element_type: U8, shape_dims: &raw const FOUR,
        shape_num_dims: 1, error_code: c::ABORTED
        => |args| destroy(args.buffer));
}

static FOUR: i64 = 4;

#[test]
fn every_type_comes_back_bit_by_bit() {
    let client = Client::new();
    for number in 1..=33 {
        let dtype = PJRT_Buffer_Type(number);
        let bytes = elements(number, 5 * 7);
        let buffer = Array::dense(dtype, &[5, 7], &bytes).put(&client, client.hbm(0)).unwrap();
        assert_eq!(get(buffer).unwrap(), bytes, "type {number}");
        assert_eq!(call!(PJRT_Buffer_ElementType, buffer: buffer).unwrap().type_, dtype);
        destroy(buffer);
    }
}

/// JAX passes negative values with their sign in the high bits.
#[test]
fn the_high_bits_of_narrow_elements_are_not_looked_at() {
    let client = Client::new();
    for (number, bits) in (1..=33).filter_map(|number| Some((number, narrow(number)?))) {
        let low = elements(number, 64);
        let loose: Vec<u8> = low.iter().map(|byte| byte | u8::MAX << bits).collect();
        let array = Array::dense(PJRT_Buffer_Type(number), &[64], &loose);
        let buffer = array.put(&client, client.hbm(0)).unwrap();
        assert_eq!(get(buffer).unwrap(), low, "type {number}");
        destroy(buffer);
    }
}

/// Transposed, backwards, repeated, and with gaps: as numpy views are.
#[test]
fn every_type_is_gathered_from_any_strides() {
    let client = Client::new();
    for number in (1..=33).filter(|&number| WIDTHS[number as usize] > 0) {
        let width = WIDTHS[number as usize];
        let memory = elements(number, 64);
        let step = i64::try_from(width).unwrap();
        // The first element of each view, and its strides in elements.
        let views: [(usize, [i64; 2]); 5] =
            [(0, [1, 4]), (63, [-8, -1]), (5, [0, 1]), (0, [16, 3]), (40, [-12, 2])];
        for (first, strides) in views {
            let dims = [3, 4];
            let strides_in_bytes = strides.map(|stride| stride * step);
            let array = Array {
                strides: &strides_in_bytes,
                data: memory[first * width..].as_ptr(),
                ..Array::dense(PJRT_Buffer_Type(number), &dims, &memory)
            };
            let buffer = array.put(&client, client.hbm(0)).unwrap();
            let mut expected = Vec::new();
            for (row, column) in (0..3).flat_map(|row| (0..4).map(move |column| (row, column))) {
                let offset = row * strides[0] + column * strides[1];
                let at = first.checked_add_signed(offset.try_into().unwrap()).unwrap() * width;
                expected.extend_from_slice(&memory[at..at + width]);
            }
            assert_eq!(get(buffer).unwrap(), expected, "type {number}, {strides:?}");
            destroy(buffer);
        }
    }
}

#[test]
fn arrays_longer_than_a_gathered_chunk_come_back() {
    let client = Client::new();
    for number in [1, 4, 21, 24, 30] {
        let dims = [3, 100_003];
        let bytes = elements(number, 300_009);
        let dtype = PJRT_Buffer_Type(number);
        let buffer = Array::dense(dtype, &dims, &bytes).put(&client, client.hbm(0)).unwrap();
        assert!(get(buffer).unwrap() == bytes, "type {number}");
        destroy(buffer);
        let width = WIDTHS[number as usize];
        let step = i64::try_from(width).unwrap();
        let columns = Array { strides: &[step, 3 * step], ..Array::dense(dtype, &dims, &bytes) };
        let buffer = columns.put(&client, client.hbm(0)).unwrap();
        let back = get(buffer).unwrap();
        let second_row = 100_003 * width;
        assert_eq!(back[second_row..second_row + width], bytes[width..2 * width]);
        assert_eq!(back[back.len() - width..], bytes[bytes.len() - width..]);
        destroy(buffer);
    }
}

#[test]
fn a_scalar_has_one_element() {
    let client = Client::new();
    let buffer = Array::dense(F32, &[], &[1, 2, 3, 4]).put(&client, client.hbm(0)).unwrap();
    assert_eq!(get(buffer).unwrap(), [1, 2, 3, 4]);
    assert!(c::buffers::dims(buffer).is_empty());
    destroy(buffer);
}

#[test]
fn the_clients_bytes_are_free_at_once_whatever_the_semantics() {
    let client = Client::new();
    for semantics in 0..=3 {
        let mut bytes = vec![5; 100];
        let array = Array { semantics, ..Array::dense(U8, &[100], &bytes) };
        let put = call!(PJRT_Client_BufferFromHostBuffer,
            client: client.raw, memory: client.hbm(0), data: array.data.cast(), type_: U8,
            dims: array.dims.as_ptr(), num_dims: 1,
            host_buffer_semantics: pjrt_sys::PJRT_HostBufferSemantics(semantics))
        .unwrap();
        assert!(is_ready(put.done_with_host_buffer));
        wait(put.done_with_host_buffer).unwrap();
        bytes.fill(6);
        drop(bytes);
        assert_eq!(get(put.buffer).unwrap(), [5; 100]);
        destroy(put.buffer);
    }
    for semantics in [4, u32::MAX] {
        let array = Array { semantics, ..Array::dense(U8, &[1], &[0]) };
        let words = format!("{semantics} is no PJRT_HostBufferSemantics");
        assert_refused(array.put(&client, client.hbm(0)), INVALID, &[&words]);
    }
}

#[test]
fn strides_that_cannot_be_are_refused() {
    let client = Client::new();
    let put = |dims: &[i64], strides: &[i64]| {
        let array = Array { strides, ..Array::dense(S32, dims, &[0; 64]) };
        array.put(&client, client.hbm(0))
    };
    assert_refused(put(&[2, 2], &[4]), INVALID, &["1 byte strides for 2 dimensions"]);
    assert_refused(put(&[2], &[4, 4, 4]), INVALID, &["3 byte strides for 1 dimensions"]);
    let far = [i64::MAX, i64::MIN, 1 << 62];
    for stride in far {
        assert_refused(put(&[4, 2], &[stride, 4]), INVALID, &["leave the address space"]);
    }
    assert_refused(put(&[2, 2], &[i64::MAX, i64::MAX]), INVALID, &["leave the address space"]);
    assert_refused(put(&[3, 3], &[4; 100]), INVALID, &["100 dimensions"]);
}

#[test]
fn bytes_that_are_needed_must_be_there() {
    let client = Client::new();
    let none = |strides: &[i64]| {
        let array = Array { strides, data: c::buffers::none(), ..Array::dense(S32, &[4], &[]) };
        array.put(&client, client.hbm(0))
    };
    assert_refused(none(&[]), INVALID, &["null data"]);
    assert_refused(none(&[4]), INVALID, &["null data"]);
    assert_refused(none(&[-4]), INVALID, &["null data"]);
}

#[test]
fn a_device_layout_may_choose_the_order_of_the_axes() {
    let client = Client::new();
    let bytes: Vec<u8> = (0..24).collect();
    let (row_major, column_major) = ([1, 0], [0, 1]);
    for order in [&row_major, &column_major] {
        let mut layout = ordered(order);
        let array = Array { layout: &raw mut layout, ..Array::dense(S32, &[2, 3], &bytes) };
        let buffer = array.put(&client, client.hbm(0)).unwrap();
        assert_eq!(get(buffer).unwrap(), bytes);
        assert_eq!(tiles(buffer).0, order.to_vec());
        destroy(buffer);
    }
    let mut by_strides = strided(&[4, 8]);
    let array = Array { layout: &raw mut by_strides, ..Array::dense(S32, &[2, 3], &bytes) };
    let buffer = array.put(&client, client.hbm(0)).unwrap();
    assert_eq!(tiles(buffer).0, [0, 1]);
    destroy(buffer);
}

fn tiles(buffer: *mut PJRT_Buffer) -> (Vec<i64>, Vec<Vec<i64>>) {
    tiles_of(&call!(PJRT_Buffer_GetMemoryLayout, buffer: buffer).unwrap().layout)
}

#[test]
fn the_layout_of_a_buffer_has_the_devices_tiles() {
    let client = Client::new();
    let buffer = Array::dense(F32, &[16, 256], &[0; 16384]).put(&client, client.hbm(0)).unwrap();
    assert_eq!(tiles(buffer), (vec![1, 0], vec![vec![8, 128]]));
    let mut again = call!(PJRT_Buffer_GetMemoryLayout, buffer: buffer).unwrap().layout;
    let array = Array { layout: &raw mut again, ..Array::dense(F32, &[16, 256], &[0; 16384]) };
    let same = array.put(&client, client.hbm(0)).unwrap();
    assert_eq!(tiles(same), (vec![1, 0], vec![vec![8, 128]]));
    destroy(buffer);
    destroy(same);
}

#[test]
fn a_device_layout_that_cannot_be_is_refused() {
    let client = Client::new();
    let bytes = [0; 24];
    let wrong = [
        (ordered(&[0]), "1 axes for an array of 2"),
        (ordered(&[0, 0]), ""),
        (ordered(&[0, 2]), ""),
        (ordered(&[-1, 0]), "axis -1"),
        (strided(&[4]), "1 axes for an array of 2"),
        (strided(&[16, 4]), "are not dense"),
        (strided(&[-12, 4]), "are not dense"),
        (tiled(&[1, 0], &[0, 128], &[2]), ""),
        (tiled(&[1, 0], &[-8, 128], &[2]), "tile extent -8"),
        (tiled(&[1, 0], &[8, 128], &[usize::MAX, 2]), "too many tile extents"),
        (tiled(&[1, 0], &[i64::MAX, i64::MAX], &[2]), ""),
    ];
    for (number, (mut layout, words)) in wrong.into_iter().enumerate() {
        let array = Array { layout: &raw mut layout, ..Array::dense(S32, &[2, 3], &bytes) };
        let answer = array.put(&client, client.hbm(0));
        assert!(answer.is_err(), "layout {number} was accepted");
        assert_refused(answer, INVALID, &[words, "PJRT_Client_BufferFromHostBuffer"]);
    }
    let mut unknown = ordered(&[1, 0]);
    unknown.type_.0 = 9;
    let array = Array { layout: &raw mut unknown, ..Array::dense(S32, &[2, 3], &bytes) };
    let words = "9 is no kind of memory layout";
    assert_refused(array.put(&client, client.hbm(0)), INVALID, &[words]);
}

#[test]
fn host_memories_hold_arrays_too() {
    let client = Client::new();
    for memory in client.memories(2) {
        let buffer = put_bytes(&client, memory, b"anywhere");
        assert_eq!(get(buffer).unwrap(), b"anywhere");
        assert_eq!(call!(PJRT_Buffer_Memory, buffer: buffer).unwrap().memory, memory);
        destroy(buffer);
    }
}
