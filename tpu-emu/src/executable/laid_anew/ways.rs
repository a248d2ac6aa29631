//! The ways in which an array that only moves gets from one order of axes to another, and what each
//! stores.
use super::steps::{AxisMove, group_order, permutations, without_units};
use crate::executable::stored_array::{Array, CORE_BYTES, LANES, SUBLANES};
use crate::hbm::layout::{Layout, TileRules};
use tpu_base::tensor::DType;
use tpu_base::units::Bytes;

/// An array that is stored on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copied {
    pub(super) array: Array,
    pub(super) bytes: u64,
    pub(super) layout: Layout,
    /// Whether its order is that in which it was read, and its tiles are others.
    is_retiled: bool,
}

/// What is stored up to a value.
#[derive(Debug, Clone, Default)]
pub(super) struct Path {
    pub(super) copies: Vec<Copied>,
    /// Bytes of a parameter that the core reads ahead.
    pub(super) ahead: u64,
}

impl Path {
    pub(super) fn bytes(&self) -> u64 {
        self.copies.iter().fold(0, |all, one| all.saturating_add(one.bytes))
    }

    pub(super) fn and(&self, (array, order): (&Array, &[usize]), rules: TileRules) -> Option<Self> {
        let (Bytes(bytes), layout) = array.in_order(rules, order)?;
        let mut path = self.clone();
        path.copies.push(Copied { array: array.clone(), bytes, layout, is_retiled: false });
        Some(path)
    }
}

/// The orders in which a value may lie, and what each takes.
type Ways = Vec<(Vec<usize>, Path)>;

/// What happens to an array, step by step.
#[derive(Debug)]
pub(super) struct Route {
    /// Whether operations work on its elements. A chip does so first.
    pub(super) is_worked: bool,
    /// Whether it is cut of another one.
    pub(super) is_piece: bool,
    pub(super) steps: Vec<AxisMove>,
    /// What each step is given, and the result, without axes of one element.
    pub(super) arrays: Vec<Array>,
}

impl Route {
    /// Whether nothing but the order of axes changes.
    pub(super) fn only_turns(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, AxisMove::Turned(_)))
    }

    /// Works on the elements with a result of another type.
    pub(super) fn convert(&mut self, dtype: DType) {
        if self.arrays.iter().any(|array| array.dtype != dtype) {
            self.is_worked = true;
            self.arrays.iter_mut().for_each(|array| array.dtype = dtype);
        }
    }

    /// The way that stores least, from one order of axes to that of the result; to any, if what reads
    /// it does not ask for one.
    pub(super) fn least(
        &self,
        rules: TileRules,
        from: Vec<usize>,
        to: Option<(&Array, &[usize])>,
    ) -> Option<Path> {
        let Some((result, to)) = to else {
            let ways = self.ways(rules, from, &[])?;
            return ways.into_iter().map(|(_, path)| path).min_by_key(Path::bytes);
        };
        let goal = without_units(&result.dims, to);
        let last = self.arrays.last()?;
        let tile = |of: &Array, order: &[usize]| Some(of.in_order(rules, order)?.1.tiles);
        // A result with an axis of one element in its tiles has others.
        let retiled = goal.len() > 1 && tile(result, to)? != tile(last, &goal)?;
        let ways = self.ways(rules, from, &goal)?;
        let ended = |(order, mut path): (Vec<usize>, Path)| {
            if order == goal {
                if !retiled || path.copies.last().is_some_and(|last| last.is_retiled) {
                    path.copies.pop();
                }
                return Some(path);
            }
            if retiled && self.only_turns() { path.and((last, &goal), rules) } else { Some(path) }
        };
        let mut least = ways.into_iter().filter_map(ended).min_by_key(Path::bytes)?;
        if self.is_worked
            && matches!(self.steps[..], [AxisMove::Turned(_), ..])
            && least.copies.len() > 1
        {
            least.copies.remove(0);
        }
        Some(least)
    }

    /// The orders in which the last array may lie.
    fn ways(&self, rules: TileRules, from: Vec<usize>, goal: &[usize]) -> Option<Ways> {
        let start = match self.is_worked {
            true => Path::default().and((self.arrays.first()?, &from), rules)?,
            false => Path::default(),
        };
        let mut ways: Ways = vec![(from, start)];
        for at in 0..self.steps.len() {
            ways = self.after(rules, at, &ways, goal)?;
        }
        Some(ways)
    }

    /// The orders in which what a step gives may lie.
    fn after(&self, rules: TileRules, at: usize, ways: &Ways, goal: &[usize]) -> Option<Ways> {
        let (from, to) = (&self.arrays[at], &self.arrays[at + 1]);
        match &self.steps[at] {
            AxisMove::Turned(axes) => {
                let turned = |order: &[usize]| -> Option<Vec<usize>> {
                    order.iter().map(|of| axes.iter().position(|axis| axis == of)).collect()
                };
                ways.iter().map(|(order, path)| Some((turned(order)?, path.clone()))).collect()
            }
            AxisMove::Reshaped(_, groups) => {
                let way = |order: Vec<usize>| {
                    let given = group_order(groups, &order, |group| &group.from);
                    let made = group_order(groups, &order, |group| &group.to);
                    let mut path = reached(rules, ways, from, &given)?;
                    if !is_free(rules, (from, &given), (to, &made))? {
                        path = path.and((to, &made), rules)?;
                    }
                    Some((made, path))
                };
                permutations(groups.len()).into_iter().map(way).collect()
            }
            AxisMove::Summed(_) => None,
            AxisMove::Repeated(_, axes) => {
                let way = |made: Vec<usize>| {
                    let given: Vec<usize> = made.iter().filter_map(|&axis| axes[axis]).collect();
                    let mut path = reached(rules, ways, from, &given)?;
                    if path.copies.is_empty() && at == 0 && !self.is_piece {
                        let read = from.in_order(rules, &given).map_or(0, |(bytes, _)| bytes.0);
                        path.ahead = if read < CORE_BYTES { read } else { 0 };
                    }
                    Some((made.clone(), path.and((to, &made), rules)?))
                };
                self.wanted(at + 1, goal).into_iter().map(way).collect()
            }
        }
    }

    /// The orders of a value that what follows takes as they are.
    fn wanted(&self, at: usize, goal: &[usize]) -> Vec<Vec<usize>> {
        match self.steps.get(at) {
            None | Some(AxisMove::Summed(_)) => vec![goal.to_vec()],
            Some(AxisMove::Turned(axes)) => {
                let before = |order: Vec<usize>| order.into_iter().map(|axis| axes[axis]).collect();
                self.wanted(at + 1, goal).into_iter().map(before).collect()
            }
            Some(AxisMove::Reshaped(_, groups)) => permutations(groups.len())
                .iter()
                .map(|order| group_order(groups, order, |group| &group.from))
                .collect(),
            Some(AxisMove::Repeated(_, axes)) => {
                let before =
                    |order: Vec<usize>| order.iter().filter_map(|&axis| axes[axis]).collect();
                self.wanted(at + 1, goal).into_iter().map(before).collect()
            }
        }
    }
}

/// The least that is stored for a value in an order.
fn reached(rules: TileRules, ways: &Ways, array: &Array, order: &[usize]) -> Option<Path> {
    let there = ways.iter().filter(|(of, _)| of == order).map(|(_, path)| path.clone());
    let least = ways.iter().map(|(_, path)| path).min_by_key(|path| path.bytes());
    let copied = least.and_then(|path| path.and((array, order), rules));
    there.chain(copied).min_by_key(Path::bytes)
}

/// Whether a reshape leaves all where it is.
fn is_free(
    rules: TileRules,
    (from, given): (&Array, &[usize]),
    (to, made): (&Array, &[usize]),
) -> Option<bool> {
    let extents = |of: &Array, order: &[usize]| {
        order.iter().take(2).map(|&axis| of.dims[axis]).collect::<Vec<_>>()
    };
    let (first, second) = (extents(from, given), extents(to, made));
    let whole = |of: &[u64]| matches!(of, &[lanes, rows] if lanes == LANES && rows.is_multiple_of(SUBLANES));
    let (&[lanes, rows], &[same, others]) = (&first[..], &second[..]) else {
        // A line has the elements of its tiles side by side.
        return Some((first.len() < 2 && second.len() < 2) || whole(&first) || whole(&second));
    };
    if lanes != same || rows == others {
        return Some(lanes == same);
    }
    let tile =
        |of: &Array, order: &[usize]| Some(*of.in_order(rules, order)?.1.tiles.first()?.first()?);
    let (one, two) = (tile(from, given)?, tile(to, made)?);
    let fills = rows.is_multiple_of(one) && others.is_multiple_of(two);
    Some(fills && (one == two || lanes <= LANES))
}

/// What counts of arrays that are there at the same time.
pub(super) fn at_one_time(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    let (mut core, mut hbm) = (0_u64, 0_u64);
    for bytes in all.into_iter().rev() {
        let place = if core.saturating_add(bytes) < CORE_BYTES { &mut core } else { &mut hbm };
        *place = place.saturating_add(bytes);
    }
    core.max(hbm)
}
