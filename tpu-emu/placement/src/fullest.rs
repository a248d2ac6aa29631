//! When the most is held.

/// The position at which values take most together, the first of several; `None` where nothing
/// takes anything. A value is its first and its last position, both of which it lives at, and its
/// bytes; one that ends before it begins lives nowhere.
pub fn fullest(values: impl IntoIterator<Item = (u64, u64, u64)>) -> Option<u64> {
    let mut steps: Vec<(u64, i128)> = Vec::new();
    for (first, last, bytes) in values.into_iter().filter(|(first, last, _)| first <= last) {
        steps.push((first, bytes.into()));
        steps.extend(last.checked_add(1).map(|end| (end, -i128::from(bytes))));
    }
    // What ends at a position ends before what begins there.
    steps.sort_unstable();
    let (mut sum, mut most, mut position) = (0, 0, None);
    for (at, change) in steps {
        sum += change;
        if sum > most {
            (most, position) = (sum, Some(at));
        }
    }
    position
}

#[cfg(test)]
mod tests {
    use super::fullest;

    #[test]
    fn the_first_of_the_fullest_positions_is_found() {
        assert_eq!(fullest([(0, 4, 64), (2, 3, 64), (3, 3, 32), (4, 6, 96)]), Some(3));
        assert_eq!(fullest([(0, 1, 8), (2, 3, 8)]), Some(0));
        assert_eq!(fullest([(5, 5, u64::MAX), (5, u64::MAX, u64::MAX), (7, 7, 1)]), Some(5));
    }

    #[test]
    fn what_takes_nothing_and_what_lives_nowhere_is_at_no_position() {
        assert_eq!(fullest([]), None);
        assert_eq!(fullest([(0, 9, 0)]), None);
        assert_eq!(fullest([(3, 2, 64)]), None);
    }
}
