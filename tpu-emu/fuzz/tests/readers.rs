//! What the fuzzers of the readers stand on.
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
