//! Bytecode that was made to hurt: cycles, deep nesting, and small inputs that stand for much.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
use tpu_stablehlo::bytecode::read;
use tpu_stablehlo::{Module, ReadError};

/// A number as the format writes it.
fn varint(value: usize) -> Vec<u8> {
    let value = u64::try_from(value).unwrap();
    for more in 0..8_u32 {
        if value >> (7 * (more + 1)) == 0 {
            let word = ((value << 1 | 1) << more).to_le_bytes();
            return word[..=usize::try_from(more).unwrap()].to_vec();
        }
    }
    [&[0], value.to_le_bytes().as_slice()].concat()
}

fn numbers(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|&value| varint(value)).collect()
}

fn section(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind], varint(content.len()).as_slice(), content].concat()
}

/// Strings of every file, then those of the test.
const STRINGS: [&str; 8] =
    ["builtin", "module", "func", "func", "x", "sym_name", "function_type", "f"];
const UNKNOWN: [u8; 1] = [(15 << 1) | 1];

/// A file with operations `builtin.module`, `func.func` and `builtin.x`.
fn file(
    more_strings: &[String],
    attributes: &[Vec<u8>],
    types: &[Vec<u8>],
    code: &[u8],
) -> Vec<u8> {
    let strings: Vec<&str> =
        STRINGS.into_iter().chain(more_strings.iter().map(String::as_str)).collect();
    let mut table = varint(strings.len());
    strings.iter().rev().for_each(|string| table.extend(varint(string.len() + 1)));
    for string in &strings {
        table.extend(string.bytes().chain([0]));
    }
    let names = numbers(&[2, 0, 2 << 1, 3, 0, 1, 1 << 1, 1, 1, 3 << 1, 0, 1, 4 << 1]);
    let mut offsets = numbers(&[attributes.len(), types.len()]);
    for entries in [attributes, types].into_iter().filter(|entries| !entries.is_empty()) {
        offsets.extend(numbers(&[0, entries.len()]));
        entries.iter().for_each(|entry| offsets.extend(varint(entry.len() << 1 | 1)));
    }
    let entries = [attributes, types].concat().concat();
    let parts = [(0, table), (1, names), (2, entries), (3, offsets), (4, code.to_vec())];
    let head = [b"ML\xEFR".as_slice(), &varint(6), b"test\0"].concat();
    let sections = parts.iter().map(|(kind, content)| section(*kind, content));
    sections.fold(head, |file, section| [file, section].concat())
}

/// A module whose operation has a location and, if there is one, a dictionary.
fn empty_module(location: usize, dictionary: Option<usize>) -> Vec<u8> {
    let mask = u8::from(dictionary.is_some());
    let mut code = [varint(1 << 1), varint(0), vec![mask], varint(location)].concat();
    code.extend(dictionary.into_iter().flat_map(varint));
    code
}

fn name_location(name: usize, child: usize) -> Vec<u8> {
    numbers(&[14, name, child])
}

/// Attributes 0 (unknown location), 1 (the string `f`) and those of the test; the last is in a
/// dictionary after it.
fn with_attribute(strings: &[String], more: Vec<Vec<u8>>) -> Result<Module, ReadError> {
    let mut attributes = vec![UNKNOWN.to_vec(), numbers(&[2, 7])];
    attributes.extend(more);
    let last = attributes.len() - 1;
    attributes.push(numbers(&[1, 1, 1, last]));
    read(&file(strings, &attributes, &[], &empty_module(0, Some(last + 1))))
}

#[test]
fn a_location_inside_of_itself_is_an_error() {
    let attributes = [numbers(&[2, 7]), name_location(0, 2), name_location(0, 1)];
    let error = read(&file(&[], &attributes, &[], &empty_module(1, None))).unwrap_err();
    assert_eq!(error.what, "a location inside of itself");
}

#[test]
fn a_chain_of_a_hundred_thousand_locations_is_read() {
    let mut attributes = vec![UNKNOWN.to_vec(), numbers(&[2, 7])];
    attributes
        .extend((0..100_000).map(|index| name_location(1, if index == 0 { 0 } else { index + 1 })));
    let module = read(&file(&[], &attributes, &[], &empty_module(100_001, None))).unwrap();
    assert!(module.functions.is_empty());
}

#[test]
fn attributes_are_read_to_a_depth_and_no_deeper() {
    let nested = |depth: usize| {
        let arrays = (0..depth).map(|index| numbers(&[0, 1, index + 1]));
        with_attribute(&[], arrays.collect())
    };
    assert!(nested(60).unwrap().attributes.get("f").is_some());
    let error = nested(100).unwrap_err();
    assert_eq!(error.what, "attributes or types nested 65 deep, 64 are read");
}

#[test]
fn an_attribute_inside_of_itself_is_an_error() {
    let error = with_attribute(&[], vec![numbers(&[0, 1, 2])]).unwrap_err();
    assert!(error.what.contains("nested 65 deep"), "{error}");
}

#[test]
fn attributes_that_double_forty_times_are_an_error() {
    let doubled = (0..40).map(|index| numbers(&[0, 2, index + 1, index + 1]));
    let error = with_attribute(&[], doubled.collect()).unwrap_err();
    assert!(error.what.contains("of the budget"), "{error}");
}

#[test]
fn a_long_name_that_is_used_a_million_times_is_an_error() {
    let long = "n".repeat(1 << 20);
    let mut dictionary = numbers(&[1, 1 << 20]);
    for _ in 0..1 << 20 {
        dictionary.extend(numbers(&[2, 1]));
    }
    let name = numbers(&[2, STRINGS.len()]);
    let error = with_attribute(&[long], vec![name, dictionary]).unwrap_err();
    assert!(error.what.contains("of the budget"), "{error}");
}

/// A function with operations inside of operations.
fn nested_regions(depth: usize) -> Vec<u8> {
    let attributes = [
        UNKNOWN.to_vec(),
        numbers(&[2, 5]),
        numbers(&[2, 7]),
        numbers(&[2, 6]),
        numbers(&[6, 0]),
        numbers(&[1, 2, 1, 2, 3, 4]),
    ];
    let types = [numbers(&[2, 0, 0])];
    // One region, of one block, without values, with one operation.
    let region = numbers(&[1 << 1, 1, 0, 1 << 1]);
    let mut code = [varint(1 << 1), varint(0), vec![0x10], varint(0), region.clone()].concat();
    code.extend([varint(1), vec![0x11], varint(0), varint(5), region.clone()].concat());
    for _ in 0..depth {
        code.extend([varint(2), vec![0x10], varint(0), region.clone()].concat());
    }
    code.extend([varint(2), vec![0], varint(0)].concat());
    file(&[], &attributes, &types, &code)
}

#[test]
fn regions_are_read_to_a_depth_and_no_deeper() {
    let module = read(&nested_regions(63)).unwrap();
    assert_eq!(&*module.functions[0].name, "f");
    let error = read(&nested_regions(64)).unwrap_err();
    assert_eq!(error.what, "builtin.x: regions nested 64 deep");
    assert!(read(&nested_regions(100_000)).is_err());
}

#[test]
fn a_region_cannot_claim_more_values_than_it_has_bytes() {
    let mut code = [varint(1 << 1), varint(0), vec![0x10], varint(0)].concat();
    code.extend(numbers(&[1 << 1, 1, 1 << 40, 0]));
    let error = read(&file(&[], &[UNKNOWN.to_vec()], &[], &code)).unwrap_err();
    assert_eq!(error.what, "a count of 1099511627776, but only 1 bytes are left");
}
