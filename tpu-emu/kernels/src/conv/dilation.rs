//! Convolutions of dilated inputs as convolutions of plain ones: windows that find the same
//! elements of the kernel over elements of the input, and not over gaps, are a phase.
use super::geometry::{Geometry, Window};

/// Some windows along one axis, evenly apart, and the elements of the kernel that count for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Along {
    /// The first window, the distance to the next, and how many there are.
    pub windows: [usize; 3],
    /// The first element of the kernel, the distance to the next, and how many there are.
    pub taps: [usize; 3],
    /// Place in the input under the first of both; it may lie outside.
    pub place: i64,
    /// Places from one window to the next, and from one element of the kernel to the next.
    pub steps: [usize; 2],
}

impl Along {
    /// The last place that is read.
    fn last(&self) -> i64 {
        let reach = (self.windows[2] - 1) * self.steps[0] + (self.taps[2] - 1) * self.steps[1];
        self.place.saturating_add(i64::try_from(reach).unwrap_or(i64::MAX))
    }

    /// Whether anything is read.
    fn reads(&self) -> bool {
        self.windows[2] > 0 && self.taps[2] > 0
    }
}

/// The phases of one axis, and the places that they read: the first, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseAxis {
    /// The phases.
    pub phases: Vec<Along>,
    /// The first place.
    pub first: i64,
    /// Places from there to the last one.
    pub places: usize,
}

impl PhaseAxis {
    /// The phases of an axis; `None` where numbers would be too large.
    pub(crate) fn new(window: &Window) -> Option<Self> {
        let base = window.base_dilation.max(1);
        let by = |step: usize| base / gcd(step, base).max(1);
        let (windows, taps) = (by(window.step), by(window.dilation));
        let (base, low) = (i64::try_from(base).ok()?, window.low);
        let offset = |first: usize, tap: usize| -> Option<i64> {
            let sum =
                first.checked_mul(window.step)?.checked_add(tap.checked_mul(window.dilation)?)?;
            i64::try_from(sum).ok()?.checked_sub(low)
        };
        let mut phases = Vec::new();
        for first in 0..windows.min(window.output.0) {
            let count = (window.output.0 - first).div_ceil(windows);
            let mut found = None;
            for tap in 0..taps.min(window.kernel.0) {
                let offset = offset(first, tap)?;
                if offset.rem_euclid(base) == 0 {
                    found = Some((tap, offset.div_euclid(base)));
                    break;
                }
            }
            let (tap, place) = found.unwrap_or((0, 0));
            let counted = if found.is_some() { (window.kernel.0 - tap).div_ceil(taps) } else { 0 };
            let base = window.base_dilation.max(1);
            let stride = |step: usize, by: usize| Some(step.checked_mul(by)? / base);
            phases.push(Along {
                windows: [first, windows, count],
                taps: [tap, taps, counted],
                place,
                steps: [stride(window.step, windows)?, stride(window.dilation, taps)?],
            });
        }
        let reading = || phases.iter().filter(|phase| phase.reads());
        let first = reading().map(|phase| phase.place).min().unwrap_or(0);
        let last = reading().map(Along::last).max();
        let places = match last {
            Some(last) => usize::try_from(last.checked_sub(first)?.checked_add(1)?).ok()?,
            None => 0,
        };
        Some(Self { phases, first, places })
    }
}

/// The greatest common divisor.
fn gcd(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The phases of all axes.
pub fn axes(geometry: &Geometry) -> Option<Vec<PhaseAxis>> {
    geometry.windows.iter().map(PhaseAxis::new).collect()
}

/// Calls `visit` with one phase of every axis, for all of them.
pub fn combinations(axes: &[PhaseAxis], mut visit: impl FnMut(&[Along])) {
    let count: usize = axes.iter().map(|axis| axis.phases.len()).product();
    for mut index in 0..count {
        let mut some = Vec::with_capacity(axes.len());
        for axis in axes.iter().rev() {
            some.push(axis.phases[index % axis.phases.len()]);
            index /= axis.phases.len();
        }
        some.reverse();
        visit(&some);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(numbers: [usize; 6], low: i64) -> Window {
        let [input, kernel, output, step, base_dilation, dilation] = numbers;
        let [input, kernel, output] = [input, kernel, output].map(|extent| (extent, 1));
        Window { input, kernel, output, step, low, base_dilation, dilation, reversed: false }
    }

    #[test]
    fn every_element_that_a_window_finds_is_in_its_phase() {
        for base in 1..5 {
            for (step, dilation, low) in [(1, 1, 0), (1, 1, 2), (2, 1, 1), (3, 2, -1), (2, 4, 5)] {
                let window = window([7, 5, 9, step, base, dilation], low);
                let axis = PhaseAxis::new(&window).unwrap();
                let mut seen = vec![vec![None; 5]; 9];
                for phase in &axis.phases {
                    let [first, apart, count] = phase.windows;
                    let [tap, between, taps] = phase.taps;
                    for i in 0..count {
                        for l in 0..taps {
                            let far = i * phase.steps[0] + l * phase.steps[1];
                            let place = phase.place + i64::try_from(far).unwrap();
                            let inside =
                                axis.first..axis.first + i64::try_from(axis.places).unwrap();
                            assert!(inside.contains(&place));
                            let place = usize::try_from(place).ok().filter(|&place| place < 7);
                            seen[first + i * apart][tap + l * between] = place;
                        }
                    }
                }
                for (at, taps) in seen.iter().enumerate() {
                    for (tap, &place) in taps.iter().enumerate() {
                        assert_eq!(place, window.locate(at, tap), "{window:?} {at} {tap}");
                    }
                }
            }
        }
    }

    #[test]
    fn phases_of_two_axes_are_combined() {
        let axis = |base| PhaseAxis::new(&window([7, 5, 9, 1, base, 1], 0)).unwrap();
        let mut count = 0;
        combinations(&[axis(2), axis(3)], |some| {
            assert_eq!(some.len(), 2);
            count += 1;
        });
        assert_eq!(count, 6);
        combinations(&[], |some| assert!(some.is_empty()));
    }

    #[test]
    fn kernel_elements_that_meet_gaps_alone_are_left_out() {
        let axis = PhaseAxis::new(&window([4, 1, 7, 1, 2, 1], 0)).unwrap();
        let taps: Vec<usize> = axis.phases.iter().map(|phase| phase.taps[2]).collect();
        assert_eq!((taps, axis.first, axis.places), (vec![1, 0], 0, 4));
    }
}
