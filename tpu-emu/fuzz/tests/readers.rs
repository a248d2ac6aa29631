//! What the fuzzers of the readers stand on.
use std::fs::{read, remove_dir_all};
use std::process::Command;
use tpu_fuzz::careless::{PLANTED, SAID};
use tpu_fuzz::random::Random;
use tpu_fuzz::readers::READERS;
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

/// Runs a test of this program again with the faults planted; whether this is that run.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test's own switch")]
fn is_planted(test: &str) -> bool {
    if std::env::var_os(PLANTED).is_some() {
        return true;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    let said = again.args(["--exact", test]).env(PLANTED, "1").output().unwrap();
    let said = (said.status.success(), String::from_utf8_lossy(&said.stdout).into_owned());
    assert!(said.0 && said.1.contains("1 passed"), "{}", said.1);
    false
}

/// What a fuzzer finds of the planted fault is its own.
#[test]
fn no_seed_meets_the_planted_fault() {
    if is_planted("no_seed_meets_the_planted_fault") {
        for (name, reader) in READERS {
            let seeds = seeds::of_reader(name).unwrap();
            let read = seeds.iter().filter(|seed| reader(seed)).count();
            assert!(2 * read > seeds.len(), "{name}: {read} of {} are read", seeds.len());
        }
    }
}

/// A fuzzer has a minute for some ten thousand inputs on a busy machine.
#[test]
fn small_changes_of_the_seeds_meet_every_planted_fault() {
    if !is_planted("small_changes_of_the_seeds_meet_every_planted_fault") {
        return;
    }
    for (name, reader) in READERS {
        let seeds = seeds::of_reader(name).unwrap();
        let mut random = Random::new(14);
        let found = (0..20_000).find_map(|_| {
            let mut damaged = random.pick(&seeds).clone();
            let at = random.below(damaged.len());
            damaged[at] = match damaged[at] {
                digit @ b'0'..=b'9' => digit ^ (random.byte() & 3),
                other => other ^ random.byte(),
            };
            let said = std::panic::catch_unwind(|| reader(&damaged)).err()?;
            Some(said.downcast_ref::<String>().cloned().unwrap_or_default())
        });
        assert!(found.as_ref().is_some_and(|said| said.starts_with(SAID)), "{name}: {found:?}");
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
