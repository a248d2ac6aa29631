//! Sliding windows: which elements of an array are in which windows.
use crate::movement::loop_nest::{Axis, collapse};
use crate::window::tuning::BLOCK_OUTPUTS;

/// A window along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowAxis {
    /// Extent of the array.
    pub input: usize,
    /// Number of windows.
    pub output: usize,
    /// Elements of a window.
    pub size: usize,
    /// From one window to the next.
    pub stride: usize,
    /// From one element of a window to the next.
    pub dilation: usize,
    /// From one element of the array to the next, when windows are laid over it.
    pub base: usize,
    /// Places before the first element; negative where elements are cut off.
    pub low: i64,
    /// Places behind the last element.
    pub high: i64,
}

impl WindowAxis {
    /// The number of windows, from everything else; `None` past `usize`.
    pub fn windows(&self) -> Option<usize> {
        let wide = |value: usize| i128::try_from(value).ok();
        let span = |count: usize, step: usize| match count {
            0 => Some(0),
            _ => wide(count - 1)?.checked_mul(wide(step)?)?.checked_add(1),
        };
        let padded = span(self.input, self.base)?
            .checked_add(i128::from(self.low))?
            .checked_add(i128::from(self.high))?;
        let window = span(self.size, self.dilation)?;
        if padded <= 0 || window > padded {
            return Some(0);
        }
        usize::try_from((padded - window) / wide(self.stride)? + 1).ok()
    }

    /// Whether every element is a window of its own.
    pub fn is_trivial(&self) -> bool {
        (self.size, self.stride, self.base, self.low, self.high) == (1, 1, 1, 0, 0)
    }

    /// Whether window `i` is everything up to element `i` (`false`) or from it on (`true`).
    pub fn scan(&self) -> Option<bool> {
        let whole = self.size == self.input && self.output == self.input;
        let before = i64::try_from(self.input).ok()?.checked_sub(1)?;
        match (self.low, self.high) {
            _ if !whole || (self.stride, self.dilation, self.base) != (1, 1, 1) => None,
            (low, 0) if low == before => Some(false),
            (0, high) if high == before => Some(true),
            _ => None,
        }
    }

    /// The windows that have their element number `place` inside the array.
    fn slot(&self, place: i128) -> Option<WindowPairs> {
        let wide = |value: usize| i128::try_from(value).ok();
        let (stride, base) = (wide(self.stride)?, wide(self.base)?);
        let offset = place * wide(self.dilation)? - i128::from(self.low);
        let last = (wide(self.input)? - 1) * base;
        let step = base / gcd(stride, base);
        let first = if offset < 0 { (-offset + stride - 1) / stride } else { 0 };
        let fits = |window: &i128| (window * stride + offset) % base == 0;
        let first = (first..(first + step).min(wide(self.output)?)).find(fits)?;
        let at = first * stride + offset;
        if at > last {
            return None;
        }
        let inside = (last - at) / (step * stride) + 1;
        let there = (wide(self.output)? - 1 - first) / step + 1;
        let narrow = |value: i128| usize::try_from(value).ok();
        Some(WindowPairs {
            count: narrow(inside.min(there))?,
            first: [narrow(first)?, narrow(at / base)?],
            steps: [narrow(step)?, narrow(step * stride / base)?],
        })
    }

    /// One slot for each place of a window that is ever inside; `None` if they are too many.
    fn slots(&self) -> Option<Vec<WindowPairs>> {
        const MOST: i128 = 1 << 26;
        let wide = |value: usize| i128::try_from(value).ok();
        if self.input == 0 || self.output == 0 {
            return Some(Vec::new());
        }
        let (dilation, low) = (wide(self.dilation)?, i128::from(self.low));
        let first = low - (wide(self.output)? - 1).checked_mul(wide(self.stride)?)?;
        let last = low.checked_add((wide(self.input)? - 1).checked_mul(wide(self.base)?)?)?;
        let from = if first > 0 { first / dilation } else { 0 };
        let to = if last < 0 { 0 } else { (last / dilation + 1).min(wide(self.size)?) };
        if to - from > MOST {
            return None;
        }
        Some((from..to).filter_map(|place| self.slot(place)).collect())
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Windows and elements that meet at one place of a window: pairs of (window, element).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WindowPairs {
    count: usize,
    first: [usize; 2],
    steps: [usize; 2],
}

/// What is called for each place of a window: axes and first offsets of outputs and inputs.
pub(crate) type VisitWindow<'a, E> = &'a mut dyn FnMut(&[Axis<2>], [usize; 2]) -> Result<(), E>;

/// All windows over an array.
///
/// Outer axes that windows do not run along are cut into blocks, which are independent.
#[derive(Debug)]
pub struct Windows {
    /// Extent of the outer axes together.
    outer: usize,
    /// How much of it is one block.
    block: usize,
    /// Elements of one of the outer indices, in outputs and inputs.
    chunk: [usize; 2],
    slots: Vec<Vec<WindowPairs>>,
    /// Elements from one index to the next, in outputs and inputs, per axis.
    steps: Vec<[usize; 2]>,
    /// Elements of axes behind the last one that windows run along.
    inner: usize,
}

impl Windows {
    /// Windows along these axes; `None` if they have too many places.
    pub fn new(axes: &[WindowAxis]) -> Option<Self> {
        let first = axes.iter().position(|axis| !axis.is_trivial()).unwrap_or(axes.len());
        let (outer, axes) = axes.split_at(first);
        let last = axes.iter().rposition(|axis| !axis.is_trivial()).map_or(0, |last| last + 1);
        let (axes, inner) = axes.split_at(last);
        let inner: usize = inner.iter().map(|axis| axis.input).product();
        let mut steps = vec![[inner; 2]; axes.len()];
        for index in (1..axes.len()).rev() {
            let [output, input] = steps[index];
            steps[index - 1] = [output * axes[index].output, input * axes[index].input];
        }
        let chunk = match (steps.first(), axes.first()) {
            (Some([output, input]), Some(axis)) => [output * axis.output, input * axis.input],
            _ => [inner; 2],
        };
        let outer = outer.iter().map(|axis| axis.input).product();
        let slots = axes.iter().map(WindowAxis::slots).collect::<Option<_>>()?;
        let block = (BLOCK_OUTPUTS / chunk[0].max(1)).clamp(1, usize::max(outer, 1));
        Some(Self { outer, block, chunk, slots, steps, inner })
    }

    /// The most outputs of a block.
    pub fn outputs(&self) -> usize {
        self.block * self.chunk[0]
    }

    /// First output and number of outputs of each block, in order.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.outer).step_by(self.block).map(|first| {
            let count = self.block.min(self.outer - first);
            (first * self.chunk[0], count * self.chunk[0])
        })
    }

    /// Calls `place` for each place of a window, in row-major order, with the outputs of a block
    /// and the elements of the input that meet there: axes and first offsets of both, the
    /// outputs' from the block's first one. No output comes twice at one place.
    ///
    /// # Errors
    /// The first one of `place`.
    pub fn places<E>(&self, block: (usize, usize), place: VisitWindow<'_, E>) -> Result<(), E> {
        let (first, outputs) = block;
        if outputs == 0 || self.slots.iter().any(Vec::is_empty) {
            return Ok(());
        }
        let from = first / self.chunk[0];
        let mut at = vec![0; self.slots.len()];
        let mut axes = Vec::with_capacity(at.len() + 2);
        loop {
            axes.clear();
            axes.push(Axis { count: outputs / self.chunk[0], steps: self.chunk });
            let mut start = [0, from * self.chunk[1]];
            for ((slots, &at), steps) in self.slots.iter().zip(&at).zip(&self.steps) {
                let slot = slots[at];
                for side in 0..2 {
                    start[side] += slot.first[side] * steps[side];
                }
                let steps = [slot.steps[0] * steps[0], slot.steps[1] * steps[1]];
                axes.push(Axis { count: slot.count, steps });
            }
            axes.push(Axis { count: self.inner, steps: [1; 2] });
            place(&collapse(axes.iter().copied()), start)?;
            let next = |(at, slots): (&mut usize, &Vec<WindowPairs>)| {
                *at = if *at + 1 < slots.len() { *at + 1 } else { 0 };
                *at != 0
            };
            if !at.iter_mut().zip(&self.slots).rev().any(next) {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(input: usize, size: usize, stride: usize, low: i64, high: i64) -> WindowAxis {
        let axis = WindowAxis { input, output: 0, size, stride, dilation: 1, base: 1, low, high };
        WindowAxis { output: axis.windows().unwrap(), ..axis }
    }

    /// Pairs of window and element, by looking at every one.
    fn slow(axis: &WindowAxis) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for place in 0..axis.size {
            for output in 0..axis.output {
                let over = i64::try_from(output * axis.stride + place * axis.dilation).unwrap();
                let Ok(at) = usize::try_from(over - axis.low) else { continue };
                if at.is_multiple_of(axis.base) && at / axis.base < axis.input {
                    pairs.push((output, at / axis.base));
                }
            }
        }
        pairs
    }

    #[test]
    #[expect(clippy::cast_possible_wrap, reason = "small numbers")]
    fn slots_are_what_a_search_finds() {
        for size in 1..5 {
            for (stride, dilation, base) in [(1, 1, 1), (2, 1, 1), (3, 2, 4), (2, 3, 3), (4, 1, 6)]
            {
                for (low, high) in [(0, 0), (2, 1), (-1, 3), (1, -2), (size as i64 - 1, 0)] {
                    let axis = axis(7, size, stride, low, high);
                    let axis = WindowAxis { dilation, base, ..axis };
                    let axis = WindowAxis { output: axis.windows().unwrap(), ..axis };
                    let windows = Windows::new(&[axis]).unwrap();
                    let mut found = Vec::new();
                    for block in windows.blocks() {
                        let done: Result<(), ()> = windows.places(block, &mut |axes, start| {
                            crate::movement::loop_nest::rows(
                                axes,
                                start,
                                &mut |at, count, steps| {
                                    let pair = |index| {
                                        (at[0] + index * steps[0], at[1] + index * steps[1])
                                    };
                                    found.extend((0..count).map(pair));
                                    Ok(())
                                },
                            )
                        });
                        assert_eq!(done, Ok(()));
                    }
                    assert_eq!(found, slow(&axis), "{axis:?}");
                }
            }
        }
    }

    #[test]
    fn windows_are_counted_and_scans_are_seen() {
        assert_eq!(axis(10, 3, 2, 1, 1).output, 5);
        assert_eq!(axis(2, 3, 1, 0, 0).output, 0);
        assert_eq!(axis(5, 5, 1, 4, 0).scan(), Some(false));
        assert_eq!(axis(5, 5, 1, 0, 4).scan(), Some(true));
        assert_eq!(axis(5, 4, 1, 3, 0).scan(), None);
    }

    #[test]
    fn a_window_of_nothing_but_padding_is_not_searched_through() {
        let far = 1_i64 << 50;
        let axis = axis(3, 1 << 50, 1, far, far);
        assert!(axis.output > 1 << 50);
        assert_eq!(axis.slot(0).map(|slot| slot.first[1]), Some(0));
    }
}
