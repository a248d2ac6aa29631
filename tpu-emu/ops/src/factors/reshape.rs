//! Factors of reshapes: an axis may be several of another shape.
use super::FactorKind::Kept;
use super::{FactorSite, Factors};

/// The common factors of two shapes of one size, from the major end on, up to where one axis is
/// no multiple of the other's rest.
pub(crate) fn reshaped(site: &FactorSite<'_>) -> Option<Factors> {
    let ([from], [to]) = (&site.operands[..], &site.results[..]) else { return None };
    if from.contains(&0) || to.contains(&0) {
        return None;
    }
    let mut factors = Factors::new(site);
    let (mut source, mut target) = (0, 0);
    let (mut left, mut wanted) = (1, 1);
    loop {
        if left == 1 {
            let Some(&next) = from.get(source) else { break };
            (left, source) = (next, source + 1);
            continue;
        }
        if wanted == 1 {
            let Some(&next) = to.get(target) else { break };
            (wanted, target) = (next, target + 1);
            continue;
        }
        let common = left.min(wanted);
        if left % common != 0 || wanted % common != 0 {
            break;
        }
        factors.shared((common, Kept), (0, source - 1), (0, target - 1))?;
        (left, wanted) = (left / common, wanted / common);
    }
    Some(factors)
}
