//! Boxes of points with three axes; the first axis changes fastest.

/// Sides of a box, or a point in one.
pub type Bounds = [i32; 3];

/// Points in a box.
pub(super) fn volume(bounds: Bounds) -> i64 {
    bounds.iter().fold(1, |product: i64, &side| product.saturating_mul(i64::from(side)))
}

/// The number of a point.
pub(super) fn index_of(point: Bounds, bounds: Bounds) -> i32 {
    point[0] + bounds[0] * (point[1] + bounds[1] * point[2])
}

/// The point with this number.
pub(super) fn point_of(index: i32, bounds: Bounds) -> Bounds {
    let [x, y, _] = bounds;
    [index % x, index / x % y, index / x / y]
}

/// Whether the point lies in the box.
pub(super) fn contains(bounds: Bounds, point: Bounds) -> bool {
    (0..3).all(|axis| (0..bounds[axis]).contains(&point[axis]))
}

/// Every point, in the order of the numbers.
pub(super) fn points(bounds: Bounds) -> impl Iterator<Item = Bounds> {
    let [x_bound, y_bound, z_bound] = bounds;
    (0..z_bound)
        .flat_map(move |z| (0..y_bound).flat_map(move |y| (0..x_bound).map(move |x| [x, y, z])))
}

/// The sides as users write them, `2x4x1`.
pub(super) fn text(bounds: Bounds) -> String {
    let [x, y, z] = bounds;
    format!("{x}x{y}x{z}")
}

/// Axis by axis.
pub(super) fn zip(a: Bounds, b: Bounds, f: impl Fn(i32, i32) -> i32) -> Bounds {
    std::array::from_fn(|axis| f(a[axis], b[axis]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_numbered_with_the_first_axis_fastest() {
        let bounds = [2, 3, 4];
        for (index, point) in (0..).zip(points(bounds)) {
            assert_eq!(index_of(point, bounds), index);
            assert_eq!(point_of(index, bounds), point);
            assert!(contains(bounds, point));
        }
        assert_eq!(volume(bounds), 24);
        assert!(!contains(bounds, [0, 3, 0]));
        assert!(!contains(bounds, [-1, 0, 0]));
    }
}
