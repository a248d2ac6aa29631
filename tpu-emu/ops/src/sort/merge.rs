//! A merge sort that asks one comparator about many pairs of runs at once.
use crate::RegionCode;
use tpu_base::error::Result;
use tpu_kernels::movement::loop_nest::gather;

/// Two sorted runs on their way into one.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Pair {
    /// Next element of the first run, and its end, which is where the second one begins.
    left: usize,
    middle: usize,
    /// Next element of the second run, and its end.
    right: usize,
    end: usize,
    /// Where the next element goes.
    to: usize,
}

/// Room for sorting `rows` rows of `length` elements.
pub(super) struct MergeScratch<'a> {
    /// Offsets of the elements in the operands: sorted row by row on return.
    pub(super) order: &'a mut [usize],
    /// As large as `order`.
    pub(super) next: &'a mut [usize],
    /// Half as many as there are elements, rounded up in each row.
    pub(super) pairs: &'a mut [Pair],
    /// As large as `pairs`, twice.
    pub(super) offsets: [&'a mut [usize]; 2],
    /// As many elements as there are pairs, two for each operand.
    pub(super) elements: Vec<&'a mut [u8]>,
    /// As many bytes as there are pairs.
    pub(super) answers: &'a mut [u8],
}

/// Sorts rows of offsets. An element of a later run comes first only if the comparator says so,
/// so the sort is stable; any comparator ends it.
///
/// # Errors
/// Those of the comparator.
pub(super) fn sort(
    comparator: &dyn RegionCode,
    operands: &[&[u8]],
    widths: &[usize],
    length: usize,
    workspace: &mut MergeScratch<'_>,
) -> Result<()> {
    let mut run = 1;
    while run < length {
        let rows = workspace.order.len() / length;
        let mut active = 0;
        for row in 0..rows {
            let (start, end) = (row * length, (row + 1) * length);
            for left in (start..end).step_by(2 * run) {
                let middle = (left + run).min(end);
                let pair =
                    Pair { left, middle, right: middle, end: (middle + run).min(end), to: left };
                if pair.right < pair.end {
                    workspace.pairs[active] = pair;
                    active += 1;
                } else {
                    finish(&pair, workspace.order, workspace.next);
                }
            }
        }
        while active > 0 {
            ask(comparator, operands, widths, active, workspace)?;
            active = advance(active, workspace);
        }
        std::mem::swap(&mut workspace.order, &mut workspace.next);
        run *= 2;
    }
    Ok(())
}

/// Copies what is left of a pair of which one run is used up.
fn finish(pair: &Pair, order: &[usize], next: &mut [usize]) {
    let left = pair.middle - pair.left;
    next[pair.to..pair.to + left].copy_from_slice(&order[pair.left..pair.middle]);
    let to = pair.to + left;
    next[to..to + pair.end - pair.right].copy_from_slice(&order[pair.right..pair.end]);
}

/// Asks for each pair whether its right element comes before its left one.
fn ask(
    comparator: &dyn RegionCode,
    operands: &[&[u8]],
    widths: &[usize],
    active: usize,
    workspace: &mut MergeScratch<'_>,
) -> Result<()> {
    let [left, right] = &mut workspace.offsets;
    for (index, pair) in workspace.pairs[..active].iter().enumerate() {
        left[index] = workspace.order[pair.left];
        right[index] = workspace.order[pair.right];
    }
    let (sides, _) = workspace.elements.as_chunks_mut::<2>();
    for (([before, after], operand), &width) in sides.iter_mut().zip(operands).zip(widths) {
        gather(width, operand, 0, &right[..active], &mut before[..active * width]);
        gather(width, operand, 0, &left[..active], &mut after[..active * width]);
    }
    let widths = widths.iter().flat_map(|&width| [width; 2]);
    let inputs: Vec<&[u8]> = workspace
        .elements
        .iter()
        .zip(widths)
        .map(|(side, width)| &side[..active * width])
        .collect();
    comparator.apply(active, &inputs, &mut [&mut workspace.answers[..active]])
}

/// Moves each pair on by one element and gives the number of pairs that are not done.
fn advance(active: usize, workspace: &mut MergeScratch<'_>) -> usize {
    let mut kept = 0;
    for index in 0..active {
        let mut pair = workspace.pairs[index];
        let from = if workspace.answers[index] == 0 { &mut pair.left } else { &mut pair.right };
        workspace.next[pair.to] = workspace.order[*from];
        *from += 1;
        pair.to += 1;
        if pair.left < pair.middle && pair.right < pair.end {
            workspace.pairs[kept] = pair;
            kept += 1;
        } else {
            finish(&pair, workspace.order, workspace.next);
        }
    }
    kept
}
