//! What an operation's factors say of its arrays, in axes of the devices.
use super::axes::{Axes, Layout};
use tpu_ops::factors::{Factor, FactorSite, Factors};
use tpu_ops::{ADD, Operator};
use tpu_stablehlo::ir::{Block, Element, Function, Operation, Value};

/// Extents of an array, where all are known.
pub(super) fn dims(function: &Function, value: Value) -> Option<&[i64]> {
    let tensor = function.values.get(value.0 as usize)?.tensor()?;
    let plain = tensor.bounds.is_empty() && tensor.quantization.is_none();
    (plain && tensor.dims.iter().all(|&dim| dim >= 0)).then_some(&tensor.dims)
}

/// The factors of an operation of the tables; `None` for one that needs all of its operands.
pub(super) fn factors_of(function: &Function, operation: &Operation) -> Option<Factors> {
    let entry = Operator::of(operation).row()?;
    let all = |values: &[Value]| {
        values.iter().map(|&value| dims(function, value)).collect::<Option<Vec<_>>>()
    };
    let site = FactorSite {
        attributes: &operation.attributes,
        operands: all(&operation.operands)?,
        results: all(&operation.results)?,
        adds: adds(operation),
    };
    let mut factors = (entry.factors)(&site)?;
    // Numbers of fewer bits do not hold all places.
    let of = |value: &Value| function.type_of(*value).tensor().map(|tensor| tensor.element);
    let wide = [Element::S32, Element::S64, Element::U32, Element::U64];
    if !operation.operands.get(1).and_then(of).is_some_and(|element| wide.contains(&element)) {
        factors.without_lookups();
    }
    Some(factors)
}

/// Whether the code inside of an operation adds two elements.
pub(super) fn adds(operation: &Operation) -> bool {
    let [region] = &operation.regions[..] else { return false };
    let [Block { arguments, operations }] = &region.blocks[..] else { return false };
    let ([sum, last], &[a, b]) = (&operations[..], &arguments[..]) else { return false };
    let both = sum.operands == [a, b] || sum.operands == [b, a];
    both && last.operands == sum.results
        && Operator::of(sum).row().is_some_and(|row| row.mnemonic == ADD.mnemonic)
}

/// The axes that each factor of an array has there.
pub(super) fn projected(
    axes: &Axes,
    layout: &Layout,
    map: &[Vec<usize>],
    factors: &[Factor],
) -> Vec<(usize, Vec<u8>)> {
    let mut found = Vec::new();
    for (split, list) in layout.0.iter().zip(map).filter(|(split, _)| !split.is_empty()) {
        if let &[factor] = &list[..] {
            found.push((factor, split.clone()));
            continue;
        }
        let mut rest = split.iter().copied().peekable();
        for &factor in list {
            let size = usize::try_from(factors[factor].size).unwrap_or_default();
            let (mut taken, mut count) = (Vec::new(), 1);
            while let Some(axis) =
                rest.next_if(|&axis| size.is_multiple_of(count * axes.size(axis)))
            {
                count *= axes.size(axis);
                taken.push(axis);
            }
            if !taken.is_empty() {
                found.push((factor, taken));
            }
            if count != size {
                break;
            }
        }
    }
    found
}

/// The axes of an axis of an array whose factors have these.
pub(super) fn joined(
    axes: &Axes,
    list: &[usize],
    factors: &[Factor],
    chosen: &[Vec<u8>],
) -> Vec<u8> {
    let mut all = Vec::new();
    for &factor in list {
        all.extend(&chosen[factor]);
        let count = i64::try_from(axes.count(&chosen[factor]));
        if list.len() > 1 && count != Ok(factors[factor].size) {
            break;
        }
    }
    all
}

/// Which axes each factor of an operation gets, so that its pieces are made where most of its
/// arrays lie. `arrays` are those of the operands and then those of the results; axes in `taken`
/// split nothing.
pub(super) fn chosen(
    axes: &Axes,
    factors: &Factors,
    arrays: &[(&Layout, usize)],
    mut taken: Vec<u8>,
) -> Vec<Vec<u8>> {
    let maps = factors.operands.iter().chain(&factors.results);
    // For each factor: a list of axes, in how many arrays it is there, and how large they are.
    let mut wanted: Vec<(usize, Vec<u8>, usize, usize)> = Vec::new();
    for ((layout, bytes), map) in arrays.iter().zip(maps) {
        for (factor, split) in projected(axes, layout, map, &factors.factors) {
            match wanted.iter_mut().find(|one| one.0 == factor && one.1 == split) {
                Some(one) => {
                    one.2 += 1;
                    one.3 = one.3.saturating_add(*bytes);
                }
                None => wanted.push((factor, split, 1, *bytes)),
            }
        }
    }
    wanted.sort_by_key(|one| std::cmp::Reverse((one.2, one.3)));
    let mut chosen = vec![Vec::new(); factors.factors.len()];
    for (factor, split, ..) in wanted {
        let had: &Vec<u8> = &chosen[factor];
        // A longer list than the one that is there may go on where that ends.
        if !split.starts_with(had)
            || factors.factors[factor].kind == tpu_ops::factors::FactorKind::Moved
        {
            continue;
        }
        let size = factors.factors[factor].size;
        let mut new = had.clone();
        for &axis in &split[had.len()..] {
            let count = i64::try_from(axes.count(&new) * axes.size(axis)).unwrap_or(i64::MAX);
            if taken.contains(&axis) || size % count != 0 {
                break;
            }
            taken.push(axis);
            new.push(axis);
        }
        chosen[factor] = new;
    }
    // To be split less in one array may be too little for the minor factors of another.
    while without_broken(axes, factors, &mut chosen) {}
    chosen
}

/// Takes their axes from minor factors that have some before them which are not split to single
/// elements; whether there were such.
fn without_broken(axes: &Axes, factors: &Factors, chosen: &mut [Vec<u8>]) -> bool {
    let mut some = false;
    for map in factors.operands.iter().chain(&factors.results) {
        for list in map.iter().filter(|list| list.len() > 1) {
            let mut all = true;
            for &factor in list {
                if !all {
                    some |= !chosen[factor].is_empty();
                    chosen[factor].clear();
                }
                let count = i64::try_from(axes.count(&chosen[factor]));
                all &= count == Ok(factors.factors[factor].size);
            }
        }
    }
    some
}
