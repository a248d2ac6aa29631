//! Axes along which code around an array runs per device already.
use super::{device_order, numbers};
use crate::grid::digits;
use tpu_base::error::{Error, Result};

/// For each device, where it is along the axes that a text as
/// `{devices=[2,1,4]<=[8] last_tile_dims={manual}}` calls manual: devices at one place have one
/// array together.
///
/// # Errors
/// `BadArgument` for other words.
pub(crate) fn zones(text: &str, devices: usize) -> Result<Vec<usize>> {
    let wrong = || Error::bad(format!("sharding {text:?} on {devices} devices"));
    let inside = text.split(" metadata=").next().unwrap_or(text).trim();
    let inside = inside.trim_start_matches('{');
    if inside.trim_end_matches('}') == "manual" {
        return Ok((0..devices).collect());
    }
    let Some((_, kinds)) = inside.split_once("last_tile_dims={") else {
        return Ok(vec![0; devices]);
    };
    let kinds: Vec<&str> = kinds.trim_end_matches('}').split(',').map(str::trim).collect();
    let (extents, rest) =
        inside.strip_prefix("devices=[").and_then(|rest| rest.split_once(']')).ok_or_else(wrong)?;
    let extents = numbers(extents).ok_or_else(wrong)?;
    let order = rest.split(' ').next().unwrap_or_default();
    let order = device_order(order, devices).ok_or_else(wrong)?;
    let first = extents.len().checked_sub(kinds.len()).ok_or_else(wrong)?;
    let total = extents.iter().try_fold(1_usize, |total, &size| total.checked_mul(size));
    if total != Some(devices) || order.len() != devices {
        return Err(wrong());
    }
    let mut zones = vec![0; devices];
    for (index, &device) in order.iter().enumerate() {
        let at = digits(index, &extents);
        let own = kinds.iter().zip(first..).filter(|(kind, _)| **kind == "manual");
        let zone = zones.get_mut(device).ok_or_else(wrong)?;
        *zone = own.fold(0, |zone, (_, axis)| zone * extents[axis] + at[axis]);
    }
    Ok(zones)
}

#[cfg(test)]
mod tests {
    use super::zones;

    #[test]
    fn devices_at_one_place_of_the_manual_axes_are_together() {
        let of = |text| zones(text, 8).unwrap();
        assert_eq!(of("{manual}"), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(of("{replicated}"), [0; 8]);
        assert_eq!(of("{devices=[2,1,4]<=[8] last_tile_dim_replicate}"), [0; 8]);
        let both = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}";
        assert_eq!(of(both), [0, 0, 0, 0, 1, 1, 1, 1]);
        let turned = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}";
        assert_eq!(of(turned), [0, 0, 0, 0, 1, 1, 1, 1]);
        let listed = "{devices=[4,2]0,1,2,3,4,5,6,7 last_tile_dims={manual} metadata={a}}";
        assert_eq!(of(listed), [0, 1, 0, 1, 0, 1, 0, 1]);
        assert!(zones("{devices=[4,4]<=[8] last_tile_dims={manual}}", 8).is_err());
        assert!(zones("{devices=[8]<=[8] last_tile_dims={manual, manual}}", 8).is_err());
    }
}
