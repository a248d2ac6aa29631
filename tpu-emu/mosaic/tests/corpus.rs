//! Every kernel of JAX's own tests, where they are: `TPU_EMU_MOSAIC_CORPUS` names a folder with
//! `payloads/ID.mlirbc` and `text/ID.mlir`, which is no part of this repository.
#![expect(clippy::disallowed_methods, reason = "the environment says where the kernels are")]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod aliases;

use aliases::without_aliases;
use std::env::var_os;
use std::fs::{read, read_dir, read_to_string};
use std::path::PathBuf;

/// What the text of format 15 is in the newest one: scans say along which dimension they go, and
/// how they compare.
fn newest(text: &str) -> String {
    let line = |line: &str| {
        let found = line.split_once("tpu.scan <").filter(|_| !line.contains("{dimension"));
        let Some((before, rest)) = found else { return line.to_owned() };
        let (kind, rest) = rest.split_once(">, ").unwrap();
        let (operands, types) = rest.split_once(" : ").unwrap();
        let kind = match (kind, types.split(',').next().unwrap().ends_with("xf32>")) {
            ("max", true) => "maxf",
            ("min", true) => "minf",
            ("max", false) => "maxui",
            ("min", false) => "minui",
            (other, _) => other,
        };
        format!("{before}tpu.scan <{kind}>, {operands} {{dimension = 0 : i64}} : {types}")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn trimmed(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

#[test]
fn every_kernel_of_the_corpus_is_read_and_its_text_is_mlirs() {
    let Some(folder) = var_os("TPU_EMU_MOSAIC_CORPUS").map(PathBuf::from) else {
        println!("skipped: TPU_EMU_MOSAIC_CORPUS does not name the corpus of kernels");
        return;
    };
    let mut names: Vec<_> =
        read_dir(folder.join("payloads")).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let mut wrong = Vec::new();
    for path in &names {
        let id = path.file_stem().unwrap().to_str().unwrap();
        let module = match tpu_mosaic::read(&read(path).unwrap(), None) {
            Ok(module) => module,
            Err(error) => {
                wrong.push(format!("{id}: {error}"));
                continue;
            }
        };
        let expected = read_to_string(folder.join(format!("text/{id}.mlir"))).unwrap();
        let expected = newest(&without_aliases(&expected));
        let found = module.to_mlir();
        let (expected, found) = (trimmed(&expected), trimmed(&found));
        if let Some(at) =
            (0..expected.len().max(found.len())).find(|&at| expected.get(at) != found.get(at))
        {
            wrong.push(format!(
                "{id} line {}:\n  {:?}\n  {:?}",
                at + 1,
                expected.get(at),
                found.get(at)
            ));
        }
    }
    println!("{} kernels, {} wrong", names.len(), wrong.len());
    for line in wrong.iter().take(20) {
        println!("{}", line.chars().take(1500).collect::<String>());
    }
    assert!(names.len() > 1000, "{} kernels in {}", names.len(), folder.display());
    assert!(wrong.is_empty(), "{} of {} kernels", wrong.len(), names.len());
}
