//! Memory of this process that may not be there.
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The word at an address; `None` where there is no memory.
pub fn word_at(address: usize) -> Option<usize> {
    let memory = File::open("/proc/self/mem").ok()?;
    let mut word = [0; size_of::<usize>()];
    memory.read_exact_at(&mut word, address as u64).ok()?;
    Some(usize::from_ne_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_where_there_is_one() {
        let word = 0x1234_5678_usize;
        assert_eq!(word_at((&raw const word).addr()), Some(word));
        for nowhere in [0, 8, usize::MAX, 1 << 62] {
            assert_eq!(word_at(nowhere), None);
        }
    }
}
