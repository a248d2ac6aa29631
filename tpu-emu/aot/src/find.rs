//! Where the library lies, and the command that loads it.
use crate::{Result, environment};
use std::io;
use std::path::{Path, PathBuf};

/// The name of the package, which asks for the installed one.
const PACKAGE: &str = "libtpu";
/// The file in it.
const FILE: &str = "libtpu.so";
/// The command's file.
const COMMAND_FILE: &str = "tpu-emu";

/// The library that is asked for: `libtpu` for that of the package in one of these folders of
/// packages, or a path to it or to its folder.
///
/// # Errors
/// A sentence that says where it was looked for.
pub fn library(asked: &str, packages: &[PathBuf]) -> Result<PathBuf> {
    if asked != PACKAGE {
        let named = PathBuf::from(asked);
        let file = if named.is_dir() { named.join(FILE) } else { named };
        return match file.is_file() {
            true => Ok(absolute(file)),
            false => Err(format!("{} is no file", file.display())),
        };
    }
    let files = packages.iter().map(|folder| folder.join(PACKAGE).join(FILE));
    let found = files.clone().find(|file| file.is_file());
    found.map(absolute).ok_or_else(|| {
        let looked: Vec<String> = files.map(|file| file.display().to_string()).collect();
        let looked = match looked.is_empty() {
            true => "no folder of packages is known".to_owned(),
            false => format!("there is no {}", looked.join(", no ")),
        };
        format!("the package libtpu is not installed ({looked}): pip install libtpu")
    })
}

/// The command `tpu-emu` of this library of ours: beside it, in the environment whose package it
/// is, or on the path.
///
/// # Errors
/// A sentence that says where it was looked for.
pub fn beside_or_on_path(own: Option<&Path>) -> Result<PathBuf> {
    let folder = own.and_then(Path::parent);
    let beside = folder.map(|folder| folder.join(COMMAND_FILE));
    // ROOT/lib/pythonX.Y/site-packages/tpu_emu, and ROOT/bin.
    let environment = folder
        .and_then(|folder| folder.ancestors().nth(4))
        .map(|root| root.join("bin").join(COMMAND_FILE));
    let path = environment::variable("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(COMMAND_FILE));
    let mut candidates = beside.iter().chain(&environment).cloned().chain(on_path);
    candidates.find(|file| file.is_file()).ok_or_else(|| {
        let looked: Vec<String> =
            beside.iter().chain(&environment).map(|file| file.display().to_string()).collect();
        let looked = looked.join(" nor ");
        format!("the command tpu-emu, which loads it, is neither {looked}, nor on the path")
    })
}

/// The version of the package that a library came with, by the metadata that pip leaves beside its
/// folder.
pub fn package_version(library: &Path) -> Option<String> {
    let folder = library.parent()?;
    let package = folder.file_name()?.to_str()?;
    let entries = folder.parent()?.read_dir().ok()?;
    let mut versions = entries.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let (distribution, version) = name.strip_suffix(".dist-info")?.rsplit_once('-')?;
        let is_its =
            distribution == package || distribution.strip_suffix("_nightly") == Some(package);
        is_its.then(|| version.to_owned())
    });
    // Two versions of one folder cannot both be right.
    let version = versions.next()?;
    versions.next().is_none().then_some(version)
}

/// Where answers are kept unless something else is asked for.
pub(crate) fn default_cache() -> Option<PathBuf> {
    let given =
        |name| environment::variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A relative one is to be ignored, says the specification.
    let caches = given("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let caches = caches.or_else(|| Some(given("HOME")?.join(".cache")))?;
    Some(caches.join("tpu-emu").join("libtpu"))
}

pub(crate) fn unreadable(file: &Path, why: &io::Error) -> String {
    format!("{} cannot be read: {why}", file.display())
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_not_there_is_said_with_where_it_was_looked_for() {
        let text = library("/nowhere/x.so", &[]).unwrap_err();
        assert_eq!(text, "/nowhere/x.so is no file");
        let text = library("libtpu", &[PathBuf::from("/a"), PathBuf::from("/b")]).unwrap_err();
        assert!(text.contains("no /a/libtpu/libtpu.so, no /b/libtpu/libtpu.so"), "{text}");
        assert!(library("libtpu", &[]).unwrap_err().contains("no folder of packages is known"));
    }

    #[test]
    fn the_package_and_its_folder_are_found() {
        let root = std::env::temp_dir().join(format!("tpu-aot-find-{}", std::process::id()));
        let folder = root.join("libtpu");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("libtpu.so");
        fs::write(&file, b"").unwrap();
        fs::create_dir(root.join("libtpu-0.0.51.dist-info")).unwrap();
        fs::create_dir(root.join("libtpux-1.dist-info")).unwrap();
        assert_eq!(package_version(&file), Some("0.0.51".to_owned()));
        let by_name = library("libtpu", &[PathBuf::from("/nowhere"), root.clone()]);
        let by_folder = library(&folder.display().to_string(), &[]);
        let command = root.join("tpu-emu");
        fs::write(&command, b"").unwrap();
        let beside = beside_or_on_path(Some(&root.join("lib.so")));
        let package = root.join("lib/python3/site-packages/tpu_emu/lib.so");
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::rename(&command, root.join("bin/tpu-emu")).unwrap();
        let of_package = beside_or_on_path(Some(&package));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!((by_name, by_folder), (Ok(file.clone()), Ok(file)));
        assert_eq!((beside, of_package), (Ok(command), Ok(root.join("bin/tpu-emu"))));
    }
}
