//! Small kernels that five versions of JAX wrote, and modules with every operation:
//! `python-tests/mosaic/write_payloads.py` makes them.
#![expect(clippy::disallowed_methods, reason = "the environment says whether to rewrite texts")]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod aliases;

use aliases::without_aliases;
use std::collections::BTreeSet;
use std::fs::{read, read_dir, read_to_string, write};
use std::path::{Path, PathBuf};
use tpu_mosaic::Config;
use tpu_mosaic::ir::{Block, Module, Op};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The payloads, by name.
fn payloads() -> Vec<(String, Vec<u8>)> {
    let paths = read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "mlirbc")).collect();
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), read(path).unwrap())).collect()
}

fn module(name: &str) -> Module {
    tpu_mosaic::read(&read(folder().join(name).with_extension("mlirbc")).unwrap(), None).unwrap()
}

#[test]
fn every_payload_reads_as_mlir_prints_it() {
    let payloads = payloads();
    assert!(payloads.len() > 30);
    let mut wrong = String::new();
    for (name, bytes) in payloads {
        let found = match tpu_mosaic::read(&bytes, None) {
            Ok(module) => module.to_mlir(),
            Err(error) => format!("{error}\n"),
        };
        let path = folder().join(&name).with_extension("mlir");
        if std::env::var_os("UPDATE").is_some() && !path.exists() {
            write(&path, &found).unwrap();
        }
        let expected = without_aliases(&read_to_string(path).unwrap());
        // MLIR 24 writes the attributes of this operation without braces.
        let expected = expected.replace(
            " offsets = [2, 0], sizes = [4, 128], strides = [1, 1] :",
            " {offsets = [2, 0], sizes = [4, 128], strides = [1, 1]} :",
        );
        // Up to JAX 0.8 a kernel does not say that it is for a TensorCore.
        let plain = |line: &str| line.replace(", tpu.core_type = #tpu.core_type<tc>", "");
        let lines = |text: &str| text.lines().map(str::trim_end).map(plain).collect();
        let (expected, found): (Vec<String>, Vec<String>) = (lines(&expected), lines(&found));
        let count = expected.len().max(found.len());
        for at in (0..count).filter(|&at| expected.get(at) != found.get(at)).take(3) {
            let (expected, found) = (expected.get(at), found.get(at));
            wrong += &format!("{name} line {}:\n  {expected:?}\n  {found:?}\n", at + 1);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn collect(block: &Block, into: &mut BTreeSet<Op>) {
    for operation in &block.operations {
        into.insert(operation.op);
        for region in &operation.regions {
            region.block.iter().for_each(|block| collect(block, into));
        }
    }
}

#[test]
fn every_operation_of_the_table_is_in_a_payload() {
    let mut seen = BTreeSet::new();
    for (_, bytes) in payloads() {
        let module = tpu_mosaic::read(&bytes, None).unwrap();
        module.functions.iter().for_each(|function| collect(&function.body, &mut seen));
    }
    let missing: Vec<&str> =
        Op::ALL.iter().filter(|op| !seen.contains(op)).map(|op| op.row().name).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_format_that_jax_wrote_is_there() {
    let formats: BTreeSet<i64> =
        payloads().iter().map(|(_, bytes)| tpu_mosaic::read(bytes, None).unwrap().format).collect();
    assert!(formats.is_superset(&[1, 3, 4, 9, 11, 13, 15, 18].into()), "{formats:?}");
}

#[test]
fn locations_are_those_of_the_users_lines_wherever_they_lie() {
    let name = "matmul_0_10_2";
    let inside = module(name);
    let config = read_to_string(folder().join("matmul_0_12_0_1.json")).unwrap();
    let config = Config::read(&config).unwrap();
    let locations = config.debug_locations.as_deref();
    assert!(locations.is_some());
    let beside = tpu_mosaic::read(&config.body, locations).unwrap();
    for module in [&inside, &beside] {
        let kernel = &module.functions[0];
        let find = |block: &Block| {
            block.operations.iter().find(|operation| operation.op == Op::TpuMatmul).cloned()
        };
        let matmul = find(&kernel.body).unwrap();
        let stack = module.locations.stack(matmul.location);
        assert_eq!(&*stack[0].file, "write_payloads.py");
        let text = module.locations.to_mlir(matmul.location);
        assert!(text.starts_with("loc(\"") && text.contains("dot_general"), "{text}");
        let first = kernel.body.operations.iter().find(|of| of.op == Op::VectorLoad).unwrap();
        let line = |location| module.locations.stack(location)[0].line;
        assert!(line(first.location) > 0);
        assert_eq!(line(first.location), line(matmul.location));
    }
    let without = tpu_mosaic::read(&config.body, None).unwrap();
    assert_eq!(without.to_mlir(), beside.to_mlir());
}
