//! `src/generated/` is what prost makes of the `.proto` files in `proto/`.
#![expect(clippy::disallowed_methods, reason = "the environment says what to compare with")]

use std::collections::BTreeMap;
use std::env::var_os;
use std::fs::{read_dir, read_to_string, write};
use std::path::{Path, PathBuf};

const HEAD: &str = "\
// Generated from proto/*.proto by `UPDATE=1 cargo test -p tpu-proto --test generated`.
// Never edited: edit the .proto files.
";

#[test]
fn the_generated_messages_are_those_of_the_proto_files() {
    let mut files: Vec<PathBuf> =
        read_dir(here("proto")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let descriptors = protox::compile(&files, [here("proto")]).unwrap();
    let requests = descriptors.file.into_iter().map(|file| {
        let package = file.package().split('.').map(str::to_owned).collect::<Vec<_>>();
        (prost_build::Module::from_parts(package), file)
    });
    let modules = prost_build::Config::new().generate(requests.collect()).unwrap();
    let modules: BTreeMap<String, String> = modules
        .into_iter()
        .map(|(module, text)| (module.to_file_name_or("messages"), text))
        .collect();
    assert!(modules.contains_key("xla.rs"));
    for (name, text) in modules {
        let path = here("src/generated").join(name);
        let fresh = format!("{HEAD}{text}");
        if var_os("UPDATE").is_some() {
            write(&path, &fresh).unwrap();
        }
        let stale = read_to_string(&path).unwrap() != fresh;
        assert!(!stale, "{path:?}: UPDATE=1 cargo test -p tpu-proto --test generated");
    }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
