//! Whether it is known where an operation was written.
use tpu_stablehlo::ir::{Location, LocationId, Locations};

/// Steps from a location to a line, at most: a damaged module can have a cycle.
const STEPS: usize = 64;

/// Whether a location has a line.
pub fn has_line(locations: &Locations, id: LocationId) -> bool {
    let mut at = id;
    // Where a location is of two, the second one is looked at when the first has none.
    let mut callers = [None; 2];
    for _ in 0..STEPS {
        at = match locations.get(at) {
            Location::File { .. } => return true,
            Location::Name(_, child) => *child,
            Location::CallSite(callee, caller) => {
                callers = [Some(*caller), callers[0]];
                *callee
            }
            Location::Fused(parts) if !parts.is_empty() => parts[0],
            Location::Fused(_) | Location::Unknown => {
                let [Some(caller), outer] = callers else { return false };
                callers = [outer, None];
                caller
            }
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_behind_names_and_calls() {
        let mut locations = Locations::default();
        let name = locations.add(Location::Name("slice".into(), LocationId::UNKNOWN));
        assert!(!has_line(&locations, LocationId::UNKNOWN) && !has_line(&locations, name));
        let file = locations.add(Location::File { file: "a.py".into(), line: 7, column: 1 });
        let named = locations.add(Location::Name("f".into(), file));
        assert!(has_line(&locations, file) && has_line(&locations, named));
        let called = locations.add(Location::CallSite(name, named));
        assert!(has_line(&locations, called), "the caller's");
        let nowhere = locations.add(Location::CallSite(name, name));
        let fused = locations.add(Location::Fused(vec![named, name]));
        assert!(!has_line(&locations, nowhere) && has_line(&locations, fused));
        let empty = locations.add(Location::Fused(Vec::new()));
        assert!(!has_line(&locations, empty));
    }
}
