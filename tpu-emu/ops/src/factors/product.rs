//! Factors of products.
use super::FactorKind::{Kept, Summed};
use super::reach::StepsOfWindow;
use super::{Bounds, FactorSite, Factors, Past, Reach};

/// The axes of both sides that a product keeps, and those that it sums over.
pub(crate) fn contracted(site: &FactorSite<'_>) -> Option<Factors> {
    let [lhs, rhs] = site.operands[..] else { return None };
    let sides = ["lhs", "rhs"];
    let [batch, sum] = ["batching", "contracting"]
        .map(|what| sides.map(|side| site.list(&format!("{side}_{what}_dimensions"))));
    let mut factors = Factors::new(site);
    let mut to = 0;
    for (&left, &right) in batch[0].iter().zip(&batch[1]) {
        let factor = factors.add(*lhs.get(left)?, Kept);
        factors.operands[0].get_mut(left)?.push(factor);
        factors.operands[1].get_mut(right)?.push(factor);
        factors.results.first_mut()?.get_mut(to)?.push(factor);
        to += 1;
    }
    for (side, dims) in [lhs, rhs].into_iter().enumerate() {
        for (axis, &size) in dims.iter().enumerate() {
            if batch[side].contains(&axis) || sum[side].contains(&axis) {
                continue;
            }
            factors.shared((size, Kept), (side, axis), (0, to))?;
            to += 1;
        }
    }
    for (&left, &right) in sum[0].iter().zip(&sum[1]) {
        let factor = factors.add(*lhs.get(left)?, Summed);
        factors.operands[0].get_mut(left)?.push(factor);
        factors.operands[1].get_mut(right)?.push(factor);
    }
    factors.neutral = Some(Past::Zero);
    Some(factors)
}

/// Batches and features of a convolution, and the axes of its windows: along one where the result is
/// longer than the window a piece of the result needs a piece of the left side and what lies around
/// it, along the others pieces of the window give summands.
pub(crate) fn convolved(site: &FactorSite<'_>) -> Option<Factors> {
    let [lhs, rhs] = site.operands[..] else { return None };
    let result = *site.results.first()?;
    let mut factors = Factors::new(site);
    let single = |name: &str| site.attributes.integer(name).unwrap_or(1) == 1;
    if single("batch_group_count") {
        let batch = site.axis("input_batch_dimension", lhs.len())?;
        let to = site.axis("output_batch_dimension", result.len())?;
        factors.shared((lhs[batch], Kept), (0, batch), (0, to))?;
        if single("feature_group_count") {
            let from = site.axis("kernel_output_feature_dimension", rhs.len())?;
            let to = site.axis("output_feature_dimension", result.len())?;
            factors.shared((rhs[from], Kept), (1, from), (0, to))?;
            let inner = site.axis("input_feature_dimension", lhs.len())?;
            let kernel = site.axis("kernel_input_feature_dimension", rhs.len())?;
            let factor = factors.add(lhs[inner], Summed);
            factors.operands[0][inner].push(factor);
            factors.operands[1][kernel].push(factor);
        }
    }
    let spatial = ["input", "kernel", "output"].map(|of| format!("{of}_spatial_dimensions"));
    let [inputs, windows, outputs] = spatial.map(|name| site.list(&name));
    let turned = site.attributes.integers("window_reversal").unwrap_or_default();
    let names = ["window_strides", "lhs_dilation", "rhs_dilation"];
    for (number, ((&from, &with), &to)) in inputs.iter().zip(&windows).zip(&outputs).enumerate() {
        let (input, window, output) = (*lhs.get(from)?, *rhs.get(with)?, *result.get(to)?);
        let StepsOfWindow { stride, low, spread, dilation } =
            StepsOfWindow::of(site, number, names)?;
        if input == 0 || window == 0 || output == 0 {
            continue;
        }
        let along = output >= window;
        // What the indices of the factor step over, and what is read for each of them.
        let (size, kind, step, places, apart) = if along {
            (output, Kept, stride, window, dilation)
        } else {
            (window, Summed, dilation, output, stride)
        };
        if !along && turned.get(number).is_some_and(|&turned| turned != 0) {
            continue;
        }
        let extent = (places - 1).checked_mul(apart)?.checked_add(1)?;
        let factor = factors.add(size, kind);
        factors.operands[0].get_mut(from)?.push(factor);
        if along {
            factors.results.first_mut()?.get_mut(to)?.push(factor);
        } else {
            factors.operands[1].get_mut(with)?.push(factor);
            factors.factors[factor].even = true;
        }
        factors.reaches.push(Reach {
            factor,
            operand: (0, from),
            size: input,
            stride: step,
            offset: low.checked_neg()?,
            extent,
            spread,
            past: Past::Zero,
            bounds: Bounds::Padding(number),
        });
    }
    Some(factors)
}
