//! What the fuzzers of the readers stand on.
use std::fs::{read, remove_dir_all};
use std::process::Command;
use tpu_fuzz::random::Random;
use tpu_fuzz::readers::{PLANTED, READERS};
use tpu_fuzz::{bytes, seeds};

#[test]
fn every_reader_has_a_fuzzer_of_its_name_and_seeds() {
    let manifest = include_str!("../cargo-fuzz/Cargo.toml");
    let names: Vec<&str> = manifest.split("[[bin]]\nname = \"").skip(1).collect();
    let names: Vec<&str> = names.iter().map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(names, READERS.map(|(name, _)| name));
    for name in names {
        assert!(seeds::of_reader(name).unwrap().len() > 5, "{name}");
    }
}

#[test]
fn the_seeds_are_written_to_a_folder_for_each_reader() {
    let folder = std::env::temp_dir().join(format!("tpu-fuzz-seeds-{}", std::process::id()));
    let mut run = Command::new(env!("CARGO_BIN_EXE_tpu-fuzz"));
    let said = run.arg("seeds").arg(&folder).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    for (name, _) in READERS {
        for (number, seed) in seeds::of_reader(name).unwrap().iter().enumerate() {
            assert!(read(folder.join(name).join(number.to_string())).unwrap() == *seed, "{name}");
        }
    }
    remove_dir_all(folder).unwrap();
}

/// What a fuzzer finds of the planted fault is its own.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
fn no_seed_meets_the_planted_fault() {
    if std::env::var_os(PLANTED).is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        let said = again.arg("no_seed_meets_the_planted_fault").env(PLANTED, "1").output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
        return;
    }
    for (name, reader) in READERS {
        seeds::of_reader(name).unwrap().iter().for_each(|seed| reader(seed));
    }
}

#[test]
fn every_reader_takes_its_seeds_and_what_is_left_of_them() {
    let mut random = Random::new(14);
    for (name, reader) in READERS {
        let seeds = seeds::of_reader(name).unwrap();
        let others: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
        for seed in &seeds {
            reader(seed);
            for _ in 0..20 {
                let mut damaged = seed.clone();
                bytes::damage(&mut random, &mut damaged, &others);
                reader(&damaged);
            }
        }
    }
}
