//! Views of every form, read and written.
use super::*;
use crate::form::Cell;

/// A view of bytes that count from 0.
fn counted(bank: &mut Bank, dtype: DType, dims: &[usize]) -> View {
    let bytes = dims.iter().product::<usize>() * dtype.host_bytes();
    let buffer = bank.own(bytes, Cell::Element(dtype));
    for (byte, number) in bank.get(buffer).place().bytes_mut().iter_mut().zip(0..) {
        *byte = number;
    }
    View::whole(buffer, dtype, dims)
}

fn read(bank: &Bank, view: &View) -> Vec<u8> {
    let mut bytes = vec![0; view.bytes()];
    view.read(bank, Place::of_mut(&mut bytes));
    bytes
}

#[test]
fn rows_of_narrow_elements_are_the_bytes_of_wide_ones_from_the_low_one_on() {
    let mut bank = Bank::default();
    let narrow = counted(&mut bank, DType::S8, &[8, 2]);
    let mut wide = narrow.clone();
    wide.bitcast(DType::S32, &[2, 2]).unwrap();
    assert_eq!(read(&bank, &wide), [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]);
    let row = wide.slice(&[1, 0], &[1, 2], None).unwrap();
    row.write(&bank, Place::of(&[1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(read(&bank, &narrow)[8..], [1, 5, 2, 6, 3, 7, 4, 8]);
    // And back.
    wide.bitcast(DType::S8, &[8, 2]).unwrap();
    assert_eq!(wide, narrow);
}

#[test]
fn wide_elements_are_rows_of_narrow_ones() {
    let mut bank = Bank::default();
    let wide = counted(&mut bank, DType::S32, &[2, 2]);
    let mut narrow = wide.clone();
    narrow.bitcast(DType::S16, &[4, 2]).unwrap();
    assert_eq!(read(&bank, &narrow), [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
    let odd = narrow.slice(&[1, 0], &[2, 2], None).unwrap();
    assert_eq!(read(&bank, &odd), [2, 3, 6, 7, 8, 9, 12, 13]);
    let one = narrow.slice(&[3, 1], &[1, 1], None).unwrap();
    one.write(&bank, Place::of(&[99, 98]));
    assert_eq!(read(&bank, &wide)[12..], [12, 13, 99, 98]);
}

#[test]
fn elements_of_half_a_byte_keep_their_sign_in_both_directions() {
    let mut bank = Bank::default();
    let narrow = counted(&mut bank, DType::S4, &[2, 1]);
    let mut wide = narrow.clone();
    wide.bitcast(DType::S8, &[1, 1]).unwrap();
    wide.write(&bank, Place::of(&[0xf3]));
    assert_eq!(read(&bank, &narrow), [3, 0xff]);
    assert_eq!(read(&bank, &wide), [0xf3]);
    let wide = counted(&mut bank, DType::S8, &[1, 1]);
    wide.write(&bank, Place::of(&[0x7e]));
    let mut narrow = wide.clone();
    narrow.bitcast(DType::S4, &[2, 1]).unwrap();
    assert_eq!(read(&bank, &narrow), [0xfe, 7]);
    narrow.write(&bank, Place::of(&[1, 0xff]));
    assert_eq!(read(&bank, &wide), [0xf1]);
}

#[test]
fn parts_lie_inside_and_strides_may_repeat() {
    let mut bank = Bank::default();
    let view = counted(&mut bank, DType::S8, &[4, 3]);
    let part = view.slice(&[1, 0], &[2, 2], Some(&[2, 1])).unwrap();
    assert_eq!(read(&bank, &part), [3, 4, 9, 10]);
    let repeated = view.slice(&[1, 0], &[2, 2], Some(&[0, 1])).unwrap();
    assert_eq!(read(&bank, &repeated), [3, 4, 3, 4]);
    for (indices, dims) in [([3, 0], [2, 1]), ([-1, 0], [1, 1]), ([0, 1], [1, 3])] {
        let error = view.slice(&indices, &dims, None).unwrap_err();
        assert!(error.contains("out of bounds"), "{error}");
    }
    assert_eq!(view.slice(&[4, 0], &[0, 3], None).unwrap().elements(), 0);
}

#[test]
fn dimensions_are_joined_and_divided_where_elements_lie_side_by_side() {
    let mut bank = Bank::default();
    let view = counted(&mut bank, DType::S8, &[2, 3, 4]);
    let joined = view.clone().with_dims(&[6, 4]).unwrap();
    assert_eq!(read(&bank, &joined), read(&bank, &view));
    let column = view.slice(&[0, 0, 1], &[2, 3, 1], None).unwrap();
    let column = column.with_dims(&[3, 2]).unwrap();
    assert_eq!(read(&bank, &column), [1, 5, 9, 13, 17, 21]);
    let apart = view.slice(&[0, 0, 0], &[2, 2, 4], None).unwrap();
    assert!(apart.with_dims(&[4, 4]).unwrap_err().contains("lie apart"));
}

#[test]
fn whole_bytes_are_moved_as_one_by_one() {
    let casts = [
        (DType::S8, DType::S32, [16, 4], [4, 4]),
        (DType::S16, DType::S32, [8, 4], [4, 4]),
        (DType::S8, DType::S16, [8, 4], [4, 4]),
        (DType::S32, DType::S16, [4, 4], [8, 4]),
        (DType::S32, DType::S8, [2, 4], [8, 4]),
        (DType::S4, DType::S16, [16, 4], [4, 4]),
        (DType::S32, DType::S4, [1, 4], [8, 4]),
        (DType::S32, DType::S32, [8, 4], [8, 4]),
    ];
    let mut moved = 0;
    for (from, to, before, after) in casts {
        let mut bank = Bank::default();
        let mut view = counted(&mut bank, from, &before);
        let buffer = view.buffer;
        view.bitcast(to, &after).unwrap();
        for first in 0..after[0] {
            for (rows, column, columns) in [(1, 0, 4), (2, 1, 2), (4, 0, 1), (4, 2, 2), (1, 3, 1)] {
                for stride in 1..3 {
                    let at = [i64::try_from(first).unwrap(), column];
                    let Ok(part) = view.slice(&at, &[rows, columns], Some(&[stride, 1])) else {
                        continue;
                    };
                    let Some(units) = part.units() else { continue };
                    moved += 1;
                    let mut one_by_one = vec![0; part.bytes()];
                    part.read_each(&bank, Place::of_mut(&mut one_by_one));
                    let mut whole = vec![0; part.bytes()];
                    units.read(&part, &bank, Place::of_mut(&mut whole));
                    assert_eq!(whole, one_by_one, "{part:?}");
                    let new: Vec<u8> = whole.iter().map(|byte| 255 - byte).collect();
                    let memory = || bank.get(buffer).place().bytes_mut();
                    let old = memory().to_vec();
                    part.write_each(&bank, Place::of(&new));
                    let expected = memory().to_vec();
                    memory().copy_from_slice(&old);
                    units.write(&part, &bank, Place::of(&new));
                    assert_eq!(memory(), expected, "{part:?}");
                    memory().copy_from_slice(&old);
                }
            }
        }
    }
    assert!(moved > 150, "{moved}");
}
