//! One stack of two: native frames, and the Python frames that some of them execute.
use super::native::NativeFrame;
use super::python::PythonStack;
use tpu_emu::origin::Frame;

/// Appends both stacks to `frames`, innermost first.
///
/// The Python frames of an evaluation function stand directly inside of it. They are matched by
/// the stack: the evaluation function keeps something of its run in its own part of it, and the
/// part of a native frame ends where the next one's begins. `name` makes a frame of a code
/// address. What finds no place, because the native walk ended early, stands at the outer end.
pub(super) fn join(
    native: &[NativeFrame],
    python: &PythonStack,
    name: impl Fn(u64) -> Frame,
    frames: &mut Vec<Frame>,
) {
    frames.reserve(native.len() + python.frames.len());
    let mut runs = python.runs.iter().peekable();
    let mut done = 0;
    for (at, frame) in native.iter().enumerate() {
        let end = native.get(at + 1).map_or(frame.sp, |outer| outer.sp);
        while let Some(run) = runs.next_if(|run| run.anchor < end) {
            frames.extend_from_slice(&python.frames[done..run.end]);
            done = run.end;
        }
        frames.push(name(frame.pc));
    }
    frames.extend_from_slice(&python.frames[done..]);
}

#[cfg(test)]
mod tests {
    use super::super::python::PythonFrames;
    use super::*;

    /// Native frames 1, 2, … with the given stack pointers, Python frames 101, 102, ….
    fn joined(sps: &[u64], runs: &[(usize, u64)], python: u64) -> Vec<u64> {
        let frame = |(pc, &sp)| NativeFrame { pc, sp };
        let native: Vec<_> = (1..).zip(sps).map(frame).collect();
        let frames = (101..=100 + python).map(Frame).collect();
        let runs = runs.iter().map(|&(end, anchor)| PythonFrames { end, anchor }).collect();
        let mut all = Vec::new();
        join(&native, &PythonStack { frames, runs }, Frame, &mut all);
        all.into_iter().map(|frame| frame.0).collect()
    }

    #[test]
    fn a_run_stands_inside_its_evaluation_function() {
        let runs = [(2, 25), (3, 45)];
        assert_eq!(joined(&[10, 20, 30, 40, 50], &runs, 3), [1, 101, 102, 2, 3, 103, 4, 5]);
    }

    #[test]
    fn two_evaluation_functions_may_follow_each_other() {
        assert_eq!(joined(&[10, 20, 30], &[(1, 12), (2, 22)], 2), [101, 1, 102, 2, 3]);
    }

    #[test]
    fn an_empty_run_changes_nothing() {
        assert_eq!(joined(&[10, 20, 30], &[(0, 12), (1, 22)], 1), [1, 101, 2, 3]);
    }

    #[test]
    fn no_python_frame_is_lost_when_the_native_walk_ends_early() {
        assert_eq!(joined(&[10, 20], &[(1, 12), (2, 90)], 4), [101, 1, 2, 102, 103, 104]);
        assert_eq!(joined(&[], &[(1, 12)], 2), [101, 102]);
    }

    #[test]
    fn native_frames_alone_stay_as_they_are() {
        assert_eq!(joined(&[10, 20], &[], 0), [1, 2]);
    }
}
