//! Answers that outlive the process, in a folder that several processes share.
use crate::wire::Answer;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The first bytes of an answer's file, the version of its form included.
const MARK: &[u8] = b"tpu-emu libtpu answer 1\n";

/// How large all answers together may become; then the oldest go.
const MOST_BYTES: u64 = 1 << 30;

/// How the name of an answer's file ends.
const ENDING: &str = "answer";

/// Files, each with the answer to one request.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    most: u64,
}

impl Cache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, most: MOST_BYTES }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ENDING}"))
    }

    /// The answer of a name. What is damaged is not there.
    pub(crate) fn get(&self, name: &str) -> Option<Answer> {
        let bytes = fs::read(self.file(name)).ok()?;
        let (sum, payload) = bytes.strip_prefix(MARK)?.split_first_chunk()?;
        let is_whole = u64::from_le_bytes(*sum) == checksum(payload);
        Answer::read(Some(payload).filter(|_| is_whole)?)
    }

    /// Keeps an answer. Another process that reads meanwhile sees all of it or nothing.
    pub(crate) fn put(&self, name: &str, answer: &Answer) -> io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let payload = answer.write();
        let bytes = [MARK, &checksum(&payload).to_le_bytes(), &payload].concat();
        fs::create_dir_all(&self.folder)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.folder.join(format!("{name}.{}.{number}", std::process::id()));
        let kept =
            fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, self.file(name)));
        if kept.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        self.forget_oldest();
        kept
    }

    fn forget_oldest(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter(|entry| has_ending(&entry.path()))
            .filter_map(|entry| {
                let about = entry.metadata().ok()?;
                Some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        let mut all: u64 = found.iter().map(|(_, size, _)| size).sum();
        if all <= self.most {
            return;
        }
        found.sort();
        for (_, size, path) in found {
            if all <= self.most {
                break;
            }
            // Another process may have been faster.
            let _ = fs::remove_file(path);
            all -= size;
        }
    }
}

fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

fn checksum(payload: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    payload.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str, most: u64) -> Cache {
        let folder = std::env::temp_dir().join(format!("tpu-aot-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Cache { folder, most }
    }

    fn said(text: &str) -> Answer {
        Answer::NotAsked(text.to_owned())
    }

    #[test]
    fn answers_are_found_again_and_damaged_ones_are_not() {
        let cache = cache("again", MOST_BYTES);
        assert_eq!(cache.get("a"), None);
        cache.put("a", &said("one")).unwrap();
        cache.put("b", &said("two")).unwrap();
        cache.put("a", &said("three")).unwrap();
        assert_eq!((cache.get("a"), cache.get("b")), (Some(said("three")), Some(said("two"))));
        let file = cache.file("a");
        let whole = fs::read(&file).unwrap();
        for damaged in [&whole[..whole.len() - 1], &[], b"something else"] {
            fs::write(&file, damaged).unwrap();
            assert_eq!(cache.get("a"), None);
        }
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        fs::write(&file, flipped).unwrap();
        assert_eq!(cache.get("a"), None);
        fs::remove_dir_all(&cache.folder).unwrap();
    }

    #[test]
    fn the_oldest_answers_go_where_all_are_too_large() {
        let cache = cache("oldest", 3000);
        for (hour, name) in (1..).zip(["a", "b", "c", "d"]) {
            cache.put(name, &said(&"x".repeat(900))).unwrap();
            let then = std::time::UNIX_EPOCH + std::time::Duration::from_hours(hour);
            // The last one is there already when the oldest goes.
            if let Ok(file) = fs::File::open(cache.file(name)) {
                file.set_modified(then).unwrap();
            }
        }
        cache.forget_oldest();
        let there = ["a", "b", "c", "d"].map(|name| cache.get(name).is_some());
        fs::remove_dir_all(&cache.folder).unwrap();
        assert_eq!(there, [false, true, true, true]);
    }
}
