//! Where CPython keeps what a walk needs, by version. 64-bit builds with a GIL.
use std::ops::Range;

/// Words of `_PyRuntime` that are looked at: its first field describes the build.
pub(super) const DEBUG_WORDS: usize = 112;

/// Cookie at the begin of `_PyRuntime` of 3.13 and later: "xdebugpy".
const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");

/// How the thread state leads to the current frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Current {
    /// Through a `_PyCFrame` on the C stack: where the state points to it, and in it the current
    /// frame and the previous `_PyCFrame`.
    CFrame { in_state: u64, frame: u64, previous: u64 },
    /// Directly.
    Frame { in_state: u64 },
}

/// What ends the run of frames that one evaluation function executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// A flag in the run's last frame (3.11).
    Flag(u64),
    /// A frame without code on the C stack behind the run.
    Shim,
}

/// Offsets in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GuestLayout {
    /// In the runtime: the thread state that shuts the interpreter down.
    pub(super) finalizing: u64,
    pub(super) current: Current,
    pub(super) run_end: RunEnd,
    /// In a frame: its code, the frame before, the instruction, who owns it.
    pub(super) frame_code: u64,
    pub(super) frame_previous: u64,
    pub(super) frame_instruction: u64,
    pub(super) frame_owner: u64,
    /// In a code object: file, qualified name, location table, first line, instructions.
    pub(super) code_file: u64,
    pub(super) code_name: u64,
    pub(super) code_lines: u64,
    pub(super) code_first_line: u64,
    pub(super) code_units: u64,
    /// In a string: the characters behind an ASCII header, and behind any other.
    pub(super) text_ascii: u64,
    pub(super) text_other: u64,
}

const PYTHON_3_11: GuestLayout = GuestLayout {
    finalizing: 24,
    current: Current::CFrame { in_state: 56, frame: 8, previous: 16 },
    run_end: RunEnd::Flag(68),
    frame_code: 32,
    frame_previous: 48,
    frame_instruction: 56,
    frame_owner: 69,
    code_file: 112,
    code_name: 128,
    code_lines: 136,
    code_first_line: 72,
    code_units: 184,
    text_ascii: 48,
    text_other: 72,
};

const PYTHON_3_12: GuestLayout = GuestLayout {
    current: Current::CFrame { in_state: 56, frame: 0, previous: 8 },
    run_end: RunEnd::Shim,
    frame_code: 0,
    frame_previous: 8,
    frame_owner: 70,
    code_first_line: 68,
    code_units: 192,
    text_ascii: 40,
    text_other: 56,
    ..PYTHON_3_11
};

impl GuestLayout {
    /// The layout of `Py_Version` = `version`; `runtime` are the first words of `_PyRuntime`.
    ///
    /// `None` for a version that is not known, or a build that does not look as expected.
    pub(super) fn of(version: u32, runtime: &[u64; DEBUG_WORDS]) -> Option<Self> {
        let released = version >> 4 & 15 >= 0xc;
        match version >> 16 {
            _ if !released => None,
            0x030b => Some(PYTHON_3_11),
            0x030c => Some(PYTHON_3_12),
            0x030d | 0x030e => Self::described(version, runtime),
            _ => None,
        }
    }

    /// The layout that a 3.13 or 3.14 gives in `_Py_DebugOffsets`.
    ///
    /// Its groups begin with a size and have grown between versions, so each is found by the
    /// fields that cannot be otherwise.
    fn described(version: u32, words: &[u64; DEBUG_WORDS]) -> Option<Self> {
        let [cookie, described, free_threaded, _, finalizing, ..] = *words;
        if (cookie, described, free_threaded) != (COOKIE, version.into(), 0) {
            return None;
        }
        let group = |from: usize, length: usize, fits: &dyn Fn(&[u64]) -> bool| {
            let mut starts = (from..DEBUG_WORDS - length).map(|at| (at, &words[at..at + length]));
            starts.find(|(_, group)| fits(group))
        };
        let inside = |range: Range<u64>, fields: &[u64]| fields.iter().all(|f| range.contains(f));
        // size, prev, next, interp, current_frame
        let fits = |g: &[u64]| g[1..4] == [0, 8, 16] && inside(24..g[0], &g[4..5]);
        let (at, state) = group(6, 5, &fits)?;
        // size, previous, executable, instr_ptr, localsplus, owner
        let fits = |g: &[u64]| g[1..3] == [8, 0] && inside(16..g[0], &g[3..6]) && g[0] < 256;
        let (at, frame) = group(at + 9, 6, &fits)?;
        // size, filename, name, qualname, linetable, firstlineno, three more, co_code_adaptive
        let fits = |g: &[u64]| {
            let file = g[1];
            g[2..5] == [file + 8, file + 16, file + 24] && inside(16..g[0], &[file, g[5], g[9]])
        };
        let (at, code) = group(at + 6, 10, &fits)?;
        // size and type of every object
        group(at + 10, 2, &|g| *g == [16, 8])?;
        Some(Self {
            finalizing,
            current: Current::Frame { in_state: state[4] },
            frame_code: frame[2],
            frame_previous: frame[1],
            frame_instruction: frame[3],
            frame_owner: frame[5],
            code_file: code[1],
            code_name: code[3],
            code_lines: code[4],
            code_first_line: code[5],
            code_units: code[9],
            ..PYTHON_3_12
        })
    }

    /// In a code object: the first unit that is traced, two words before the instructions.
    pub(super) fn code_first_traced(&self) -> u64 {
        self.code_units - 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINAL: u32 = 0xf0;

    fn described(version: u32, interpreter: usize, frame_more: &[u64]) -> [u64; DEBUG_WORDS] {
        let mut words = vec![COOKIE, version.into(), 0, 4096, 608, 1];
        words.extend((0..interpreter as u64).map(|n| 7000 + n));
        words.extend([320, 0, 8, 16, 72, 152, 160, 240, 32]);
        words.extend([88, 8, 0, 56, 72, 70]);
        words.extend(frame_more);
        words.extend([208, 112, 120, 128, 136, 68, 52, 96, 104, 200]);
        words.extend([16, 8]);
        words.resize(DEBUG_WORDS, 0);
        words.try_into().unwrap()
    }

    #[test]
    fn a_description_is_found_whatever_grew_before_it() {
        let expected = GuestLayout {
            finalizing: 608,
            current: Current::Frame { in_state: 72 },
            code_units: 200,
            ..PYTHON_3_12
        };
        for (minor, interpreter, more) in [(13, 13, &[][..]), (14, 16, &[64, 84])] {
            let version = 0x0300_0000 | minor << 16 | FINAL;
            let words = described(version, interpreter, more);
            assert_eq!(GuestLayout::of(version, &words), Some(expected));
        }
    }

    #[test]
    fn what_is_not_known_has_no_layout() {
        let none = [0; DEBUG_WORDS];
        assert_eq!(GuestLayout::of(0x030a_0000 | FINAL, &none), None);
        assert_eq!(GuestLayout::of(0x030b_00a1, &none), None);
        assert_eq!(GuestLayout::of(0x030d_0000 | FINAL, &none), None);
        let mut free_threaded = described(0x030d_0000 | FINAL, 13, &[]);
        free_threaded[2] = 1;
        assert_eq!(GuestLayout::of(0x030d_0000 | FINAL, &free_threaded), None);
        assert_eq!(GuestLayout::of(0x030b_0000 | FINAL, &none), Some(PYTHON_3_11));
    }
}
