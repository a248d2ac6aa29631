//! Modules that are refused, and damaged ones: an error with its place, and never a panic.
#![expect(clippy::disallowed_methods, reason = "the environment says whether to rewrite texts")]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::fs::{read, read_dir, read_to_string, write};
use std::path::{Path, PathBuf};
use tpu_mosaic::{Config, Error};

fn payloads(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let paths = read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "mlirbc")).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), read(path).unwrap())).collect()
}

#[test]
fn each_refusal_names_what_it_is_and_its_line_and_all_come_at_once() {
    let mut wrong = String::new();
    for (path, bytes) in payloads("refused") {
        let error = tpu_mosaic::read(&bytes, None).unwrap_err();
        let mut found = format!("{error}\n");
        if let Error::Refused(refusals) = &error {
            for refusal in refusals {
                found += &format!("{}\n", refusal.location);
            }
        }
        let path = path.with_extension("txt");
        if std::env::var_os("UPDATE").is_some() {
            write(&path, &found).unwrap();
        }
        let expected = read_to_string(&path).unwrap_or_default();
        if expected != found {
            wrong += &format!("{}:\n{found}\n", path.display());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A payload whose operations are other ones, of names as long.
#[test]
fn unknown_operations_of_a_kernel_are_named_with_the_users_line() {
    let all = payloads("golden");
    let (_, bytes) = all.iter().find(|(path, _)| path.ends_with("matmul_0_10_2.mlirbc")).unwrap();
    let mut other = bytes.clone();
    for (name, unknown) in [("tpu.matmul", "tpu.moonul"), ("arith.truncf", "arith.tmoonf")] {
        let at = bytes.windows(name.len()).position(|part| part == name.as_bytes()).unwrap();
        other[at..at + name.len()].copy_from_slice(unknown.as_bytes());
    }
    let Err(Error::Refused(refusals)) = tpu_mosaic::read(&other, None) else {
        panic!("it was read");
    };
    let [product, rounded] = refusals.as_slice() else { panic!("{refusals:?}") };
    assert_eq!(product.what, "the operation tpu.moonul");
    assert_eq!(rounded.what, "the operation arith.tmoonf");
    for refusal in &refusals {
        let line = refusal.line.as_ref().unwrap();
        assert!(line.starts_with("write_payloads.py:"), "{line}");
        assert!(refusal.location.contains("callsite("), "{}", refusal.location);
    }
}

#[test]
fn every_truncation_is_an_error() {
    for (path, bytes) in payloads("golden") {
        for length in 0..bytes.len() {
            let read = tpu_mosaic::read(&bytes[..length], None);
            assert!(read.is_err(), "{} cut to {length}", path.display());
        }
    }
}

#[test]
fn no_flipped_bit_panics_in_reading_or_printing() {
    let mut still_read = 0;
    for (_, bytes) in payloads("golden").into_iter().chain(payloads("refused")) {
        for bit in (0..bytes.len() * 8).step_by(31) {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            match tpu_mosaic::read(&other, None) {
                Ok(module) => {
                    still_read += 1;
                    assert!(!module.to_mlir().is_empty());
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
    assert!(still_read > 100, "{still_read}");
}

#[test]
fn damaged_locations_beside_a_module_are_errors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/matmul_0_12_0_1.json");
    let config = Config::read(&read_to_string(path).unwrap()).unwrap();
    let locations = config.debug_locations.unwrap();
    for length in (0..locations.len()).step_by(7) {
        assert!(tpu_mosaic::read(&config.body, Some(&locations[..length])).is_err());
    }
    for bit in (0..locations.len() * 8).step_by(11) {
        let mut other = locations.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        let _ = tpu_mosaic::read(&config.body, Some(&other));
    }
}
