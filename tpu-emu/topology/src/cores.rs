//! The shape of a slice that is known by its number of TensorCores.
use super::MAX_CHIPS;
use super::generations::Generation;
use super::mesh::{self, Bounds};

/// The shape of the slice with so many TensorCores.
///
/// Of all boxes with as many chips it is the one with the shortest longest side; sides ascend.
/// Past one host the sides are of whole hosts, past a cube of 4x4x4 chips of whole cubes.
/// Source: the tables of slices on the pages "TPU v2" to "TPU7x" of the Cloud TPU documentation.
/// That TPU7x counts TensorCores too is inferred.
pub(super) fn shape_of(row: &Generation, cores: i64) -> Option<Bounds> {
    let per_chip = i64::from(row.cores_per_chip());
    let chips = (cores % per_chip == 0).then_some(cores / per_chip)?;
    if !(1..=MAX_CHIPS).contains(&chips) {
        return None;
    }
    let small = [[1, 1, 1], [1, 2, 1], [2, 2, 1]];
    if let Some(bounds) = small.into_iter().find(|&bounds| mesh::volume(bounds) == chips) {
        return Some(bounds);
    }
    let step = if row.axes == 3 && chips >= 64 { 4 } else { 2 };
    let units = chips / (step * step);
    let planar = || divisors(units).map(|x| [x * step, units / x * step, 1]);
    let solid = || {
        let per_z = if step == 4 { 4 } else { 1 };
        divisors(units).flat_map(move |x| {
            let rest = units / x;
            divisors(rest)
                .map(move |y| [x * step, y * step, rest / y])
                .filter(move |[_, _, z]| z % per_z == 0)
        })
    };
    let fits = |bounds: &[i64; 3]| bounds.iter().product::<i64>() == chips;
    let best = match row.axes {
        3 => solid().filter(fits).min_by_key(|&sides| rank(sides)),
        _ => planar().filter(fits).min_by_key(|&sides| rank(sides)),
    };
    let [x, y, z] = best?;
    let side = |side: i64| i32::try_from(side).ok();
    Some([side(x)?, side(y)?, side(z)?])
}

/// Cubes before boards, ascending sides before others.
fn rank(sides: [i64; 3]) -> (i64, i64, [i64; 3]) {
    let longest = sides.into_iter().max().unwrap_or(0);
    (longest, sides.iter().sum(), sides)
}

fn divisors(number: i64) -> impl Iterator<Item = i64> {
    (1..=number).filter(move |&one| number % one == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GENERATIONS;

    #[test]
    fn a_shape_has_as_many_chips_as_asked_for_or_there_is_none() {
        for row in &GENERATIONS {
            let per_chip = i64::from(row.cores_per_chip());
            for cores in (0..600).chain([MAX_CHIPS, MAX_CHIPS + 1, i64::MAX]) {
                let Some(bounds) = shape_of(row, cores) else { continue };
                assert_eq!(mesh::volume(bounds) * per_chip, cores, "{}", row.family);
            }
            assert_eq!(shape_of(row, 0), None);
            assert_eq!(shape_of(row, -1), None);
            assert_eq!(shape_of(row, (MAX_CHIPS + 1) * per_chip), None);
        }
    }
}
