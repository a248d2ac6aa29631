//! The library that calls us, and the Python package that it came with.
use crate::stack::{ProcessStacks, StackMode, library_of};
use std::fs;
use std::path::Path;
use tpu_emu::origin::StackSource as _;

/// The library or program whose code called ours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallingLibrary {
    /// The file; empty if no caller could be found.
    pub library: String,
    /// The package that brought it and its version: `("jaxlib", "0.4.13")`. All packages of
    /// TensorFlow are `tensorflow`.
    pub package: Option<(String, String)>,
}

/// The innermost library on the calling thread's stack that is not ours.
pub fn calling_library() -> CallingLibrary {
    let stacks = ProcessStacks::new(StackMode::Native);
    let mut frames = Vec::new();
    stacks.capture(&mut frames);
    let libraries = frames.into_iter().filter_map(library_of);
    let mut others = libraries.skip_while({
        // The first frame is this function's.
        let mut own = None;
        move |library| own.get_or_insert_with(|| library.clone()) == library
    });
    let Some(library) = others.next() else { return CallingLibrary::default() };
    CallingLibrary { library: library.display().to_string(), package: package(&library) }
}

/// The package whose folder holds a library, by the metadata that pip leaves beside that folder.
fn package(library: &Path) -> Option<(String, String)> {
    let is_root = |folder: &&Path| {
        folder.file_name().is_some_and(|name| name == "jaxlib" || name == "tensorflow")
    };
    let root = library.ancestors().find(is_root)?;
    let name = root.file_name()?.to_str()?.to_owned();
    let entries = fs::read_dir(root.parent()?).ok()?;
    let mut versions: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|entry| version(&name, &entry))
        .collect();
    versions.sort();
    versions.dedup();
    // Two versions of one folder cannot both be right.
    let [version] = versions.as_slice() else { return None };
    Some((name, version.clone()))
}

/// The version in the name of a package's metadata folder.
fn version(name: &str, entry: &str) -> Option<String> {
    let (distribution, version) = entry.strip_suffix(".dist-info")?.rsplit_once('-')?;
    let variants = ["", "_tpu", "_cpu", "_gpu"];
    let rest = distribution.strip_prefix(name)?;
    variants.contains(&rest).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_in_the_name_of_the_metadata() {
        assert_eq!(version("jaxlib", "jaxlib-0.4.13.dist-info"), Some("0.4.13".to_owned()));
        let tpu = version("tensorflow", "tensorflow_tpu-2.20.0.dist-info");
        assert_eq!(tpu, Some("2.20.0".to_owned()));
        assert_eq!(version("tensorflow", "tensorflow_estimator-2.7.0.dist-info"), None);
        assert_eq!(version("jaxlib", "jax-0.4.13.dist-info"), None);
        assert_eq!(version("jaxlib", "jaxlib"), None);
    }

    #[test]
    fn a_library_outside_of_any_package_has_none() {
        assert_eq!(package(Path::new("/lib/libc.so.6")), None);
        assert_eq!(package(Path::new("/nowhere/jaxlib/x.so")), None);
    }

    #[test]
    fn a_package_is_known_by_the_metadata_beside_its_folder() {
        let site = std::env::temp_dir().join(format!("tpu-emu-client-{}", std::process::id()));
        let library = site.join("tensorflow/python/libx.so");
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        let metadata = |name: &str| fs::create_dir(site.join(name)).unwrap();
        let mut found = vec![package(&library)];
        metadata("tensorflow_estimator-2.15.0.dist-info");
        metadata("tensorflow_tpu-2.20.0.dist-info");
        found.push(package(&library));
        metadata("tensorflow-2.20.0.dist-info");
        found.push(package(&library));
        metadata("tensorflow_cpu-2.13.0.dist-info");
        found.push(package(&library));
        found.push(package(&site.join("other/libx.so")));
        fs::remove_dir_all(&site).unwrap();
        let known = Some(("tensorflow".to_owned(), "2.20.0".to_owned()));
        // Two versions beside one folder are none.
        assert_eq!(found, [None, known.clone(), known, None, None]);
    }

    #[test]
    fn the_caller_of_this_test_program_is_the_system_s_library() {
        // Everything but the start of a thread is in one program here.
        let caller = calling_library();
        assert!(caller.library.contains("libc"), "{caller:?}");
        assert_eq!(caller.package, None);
    }
}
