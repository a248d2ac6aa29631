//! Which bytes of its memory a view covers.
use super::{View, width};

impl View {
    /// A view of one element.
    ///
    /// # Errors
    /// Indices that lead outside.
    pub(crate) fn one(&self, indices: &[i64]) -> Result<Self, String> {
        self.slice(indices, &vec![1; self.axes.len()], None)
    }

    /// The bytes that it covers: where each run begins in its memory, and how long it is, in the
    /// order of its elements.
    pub(crate) fn runs(&self) -> Vec<(usize, usize)> {
        if self.elements() == 0 {
            return Vec::new();
        }
        if self.is_cut() {
            return self.cut().runs();
        }
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let mut add = |start: usize, bytes: usize| match runs.last_mut() {
            Some((before, length)) if *before + *length == start => *length += bytes,
            _ => runs.push((start, bytes)),
        };
        let Some(strides) = self.strides() else {
            let one = width(self.dtype).div_ceil(8);
            self.each(&mut |_, at| match self.parts {
                None => add(at / 8, one),
                Some(parts) => (0..parts.count)
                    .for_each(|part| add((at + part * parts.step) / 8, parts.bits.div_ceil(8))),
            });
            return runs;
        };
        // Dimensions whose elements lie side by side are one run.
        let mut side = 1;
        let mut outer = self.axes.len();
        while outer > 0 && (self.axes[outer - 1].extent == 1 || strides[outer - 1] == side) {
            side *= self.axes[outer - 1].extent;
            outer -= 1;
        }
        let size = self.dtype.host_bytes();
        let mut rows = self.clone();
        rows.axes.truncate(outer);
        rows.each(&mut |_, at| add(at / 8, side * size));
        runs
    }
}
