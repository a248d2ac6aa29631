//! Factors of operations that move or join operands along an axis: a piece needs what lies next to
//! it in other pieces.
use super::FactorKind::Kept;
use super::axes::unless;
use super::{FactorSite, Factors, Local};

/// What lies past the ends of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Past {
    /// Nothing that is read.
    Nothing,
    /// Zeros.
    Zero,
    /// The element of this operand.
    Operand(usize),
}

/// Which attributes say where an operation begins to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounds {
    /// `start_indices` and `limit_indices` of the axis.
    Slice,
    /// `edge_padding_low` and `edge_padding_high` of the axis.
    Edges,
    /// The pair of `padding` with this number.
    Padding(usize),
    /// None: operands lie side by side.
    Places,
}

/// What a piece of an operation reads of an operand along one axis: index `i` of the factor reads
/// the places from `offset + i * stride` on, `extent` of them.
#[derive(Debug, Clone, Copy)]
pub struct Reach {
    /// The factor.
    pub factor: usize,
    /// The operand, and its axis.
    pub operand: (usize, usize),
    /// How many elements the operand has along the axis.
    pub size: i64,
    /// From one index to the next.
    pub stride: i64,
    /// The first place of the first index; negative where that lies before the operand.
    pub offset: i64,
    /// How many places an index reads, with those between.
    pub extent: i64,
    /// How many places an element of the operand takes: one, and the holes behind it.
    pub spread: i64,
    /// What lies past the ends.
    pub past: Past,
    /// Which attributes say so.
    pub bounds: Bounds,
}

/// A window along one axis: how far it goes from place to place, what lies before the operand, and
/// how far the elements of the operand and of the window are apart.
#[derive(Debug)]
pub(super) struct StepsOfWindow {
    pub(super) stride: i64,
    pub(super) low: i64,
    pub(super) spread: i64,
    pub(super) dilation: i64,
}

impl StepsOfWindow {
    /// That with a number among an operation's, from the lists with these names: strides, the
    /// operand's dilations, the window's.
    pub(super) fn of(site: &FactorSite<'_>, number: usize, names: [&str; 3]) -> Option<Self> {
        let one = |name: &str| match site.attributes.integers(name) {
            Some(all) => all.get(number).copied().filter(|&one| one > 0),
            None => Some(1),
        };
        let [stride, spread, dilation] = names.map(one);
        let low = match site.attributes.get("padding") {
            Some(padding) => *padding.integers()?.get(2 * number)?,
            None => 0,
        };
        Some(Self { stride: stride?, low, spread: spread?, dilation: dilation? })
    }
}

impl Factors {
    /// A factor of an axis of the first results and operands, of which each operand is read so.
    fn reaching(
        &mut self,
        site: &FactorSite<'_>,
        axis: usize,
        reaches: impl Iterator<Item = Reach>,
    ) -> Option<()> {
        let size = *site.results.first()?.get(axis)?;
        let factor = self.add(size, Kept);
        for reach in reaches {
            let (operand, axis) = reach.operand;
            self.operands.get_mut(operand)?.get_mut(axis)?.push(factor);
            self.reaches.push(Reach { factor, ..reach });
        }
        for array in &mut self.results {
            array.get_mut(axis)?.push(factor);
        }
        Some(())
    }
}

/// One element of an operand for each index, `offset` further.
fn moved((operand, axis): (usize, usize), size: i64, offset: i64, bounds: Bounds) -> Reach {
    let (stride, extent, spread, past) = (1, 1, 1, Past::Nothing);
    let operand = (operand, axis);
    Reach { factor: 0, operand, size, stride, offset, extent, spread, past, bounds }
}

/// A part of the operand.
pub(crate) fn sliced(site: &FactorSite<'_>) -> Option<Factors> {
    let (&[from], &[to]) = (&site.operands[..], &site.results[..]) else { return None };
    let same = |axis: usize| from.get(axis) == to.get(axis);
    let mut factors = unless(site, Local::Limits, |axis| same(axis).then_some(Kept))?;
    let (starts, steps) =
        (site.attributes.integers("start_indices")?, site.attributes.integers("strides")?);
    for axis in (0..to.len()).filter(|&axis| !same(axis) && to[axis] > 0) {
        let reach = moved((0, axis), *from.get(axis)?, *starts.get(axis)?, Bounds::Slice);
        let reach = Reach { stride: *steps.get(axis)?, ..reach };
        factors.reaching(site, axis, std::iter::once(reach))?;
    }
    Some(factors)
}

/// Operands side by side.
pub(crate) fn joined(site: &FactorSite<'_>) -> Option<Factors> {
    let result = *site.results.first()?;
    let axis = site.axis("dimension", result.len())?;
    let along = |dims: &&[i64]| dims.get(axis).copied();
    let sizes: Vec<i64> = site.operands.iter().map(along).collect::<Option<_>>()?;
    if let [_] = sizes[..] {
        return unless(site, Local::Same, |_| Some(Kept));
    }
    let mut factors = unless(site, Local::Joined(axis), |other| (other != axis).then_some(Kept))?;
    if sizes.iter().all(|&size| size > 0) {
        let mut before = 0;
        let place = |(operand, &size): (usize, &i64)| {
            let reach = moved((operand, axis), size, -before, Bounds::Places);
            before += size;
            reach
        };
        factors.reaching(site, axis, sizes.iter().enumerate().map(place))?;
    }
    Some(factors)
}

/// The operand with elements around and between.
pub(crate) fn padded(site: &FactorSite<'_>) -> Option<Factors> {
    let (from, to) = (*site.operands.first()?, *site.results.first()?);
    let amounts = ["edge_padding_low", "edge_padding_high", "interior_padding"];
    let amounts: Vec<Vec<i64>> =
        amounts.iter().map(|name| site.attributes.integers(name)).collect::<Option<_>>()?;
    let none = |axis: usize| amounts.iter().all(|all| all.get(axis) == Some(&0));
    let mut factors = unless(site, Local::Same, |axis| none(axis).then_some(Kept))?;
    for axis in (0..to.len()).filter(|&axis| !none(axis) && to[axis] > 0 && from[axis] > 0) {
        let reach = moved((0, axis), from[axis], -*amounts[0].get(axis)?, Bounds::Edges);
        let spread = amounts[2].get(axis)?.checked_add(1)?;
        let reach = Reach { spread, past: Past::Operand(1), ..reach };
        factors.reaching(site, axis, std::iter::once(reach))?;
    }
    Some(factors)
}

/// Elements in the other order along `dimensions`.
pub(crate) fn reversed(site: &FactorSite<'_>) -> Option<Factors> {
    let turned = site.list("dimensions");
    let mut factors = unless(site, Local::Mirrored, |_| Some(Kept))?;
    for axis in turned {
        factors.factors.get_mut(axis)?.even = true;
    }
    Some(factors)
}

/// Windows over arrays of one shape.
pub(crate) fn windowed(site: &FactorSite<'_>) -> Option<Factors> {
    let count = site.results.len();
    let (from, to) = (*site.operands.first()?, *site.results.first()?);
    let mut factors = unless(site, Local::Same, |axis| single(site, axis).then_some(Kept))?;
    let names = ["window_strides", "base_dilations", "window_dilations"];
    let sizes = site.attributes.integers("window_dimensions")?;
    for axis in (0..to.len()).filter(|&axis| !single(site, axis)) {
        let (window, size) = (StepsOfWindow::of(site, axis, names)?, *sizes.get(axis)?);
        if from[axis] == 0 || to[axis] == 0 {
            continue;
        }
        let extent = (size - 1).checked_mul(window.dilation)?.checked_add(1)?;
        let reach = |operand: usize| Reach {
            stride: window.stride,
            extent,
            spread: window.spread,
            past: Past::Operand(count + operand),
            ..moved((operand, axis), from[axis], -window.low, Bounds::Padding(axis))
        };
        factors.reaching(site, axis, (0..count).map(reach))?;
    }
    Some(factors)
}

/// Whether windows have one element along an axis and leave none out.
fn single(site: &FactorSite<'_>, axis: usize) -> bool {
    let ones = |name: &str| match site.attributes.integers(name) {
        Some(all) => all.get(axis) == Some(&1),
        None => true,
    };
    let lists = ["window_dimensions", "window_strides", "base_dilations", "window_dilations"];
    lists.iter().all(|name| ones(name)) && unpadded(site, axis)
}

fn unpadded(site: &FactorSite<'_>, axis: usize) -> bool {
    let padding = site.attributes.get("padding").and_then(|padding| padding.integers());
    padding.unwrap_or_default().get(2 * axis..2 * axis + 2).is_none_or(|pair| pair == [0, 0])
}

/// Windows that do not overlap and leave nothing out, each with its element of the source.
pub(crate) fn windows_scattered(site: &FactorSite<'_>) -> Option<Factors> {
    let &[operand, source, _] = &site.operands[..] else { return None };
    let mut factors = unless(site, Local::Same, |axis| single(site, axis).then_some(Kept))?;
    let list = |name: &str| site.attributes.integers(name);
    let (sizes, strides) = (list("window_dimensions")?, list("window_strides")?);
    for axis in (0..operand.len()).filter(|&axis| !single(site, axis) && unpadded(site, axis)) {
        let (size, stride) = (*sizes.get(axis)?, *strides.get(axis)?);
        let places = *source.get(axis)?;
        if size == stride && places > 0 && places.checked_mul(size) == Some(operand[axis]) {
            let factor = factors.add(places, Kept);
            factors.factors[factor].even = true;
            factors.operands[0][axis].push(factor);
            factors.operands[1][axis].push(factor);
            factors.results.first_mut()?.get_mut(axis)?.push(factor);
        }
    }
    Some(factors)
}
