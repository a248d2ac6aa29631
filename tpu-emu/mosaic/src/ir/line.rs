//! The line of the user's source that an operation of a kernel comes from.
//!
//! JAX traces much of what kernels do (`ref[…]`, `semaphore_signal`, what `jnp` has) as functions
//! of its own, once for all calls with the same types. Their operations have the stack of the call
//! that was traced, with that of the call that was meant as its caller: the first would name
//! another line.
use super::{Location, LocationId, Locations, SourceLine};

/// Calls inside of each other that are looked through.
const DEPTH: usize = 64;

/// The line of the user's source, as `file:line:column`, where the innermost frame of the call
/// that was meant stands; nothing where no line is known.
pub fn user_line(locations: &Locations, id: LocationId) -> Option<String> {
    let line = innermost(locations, id, DEPTH)?;
    Some(format!("{}:{}:{}", line.file, line.line, line.column))
}

fn innermost(locations: &Locations, id: LocationId, depth: usize) -> Option<SourceLine> {
    let (path, inside) = unnamed(locations, id);
    let first = || locations.stack(id).into_iter().next();
    let (Location::CallSite(callee, caller), Some(depth)) =
        (locations.get(inside), depth.checked_sub(1))
    else {
        return first();
    };
    let (inner, outer) = (locations.stack(*callee), locations.stack(*caller));
    let (Some(leaf), Some(meant), Some(root)) = (inner.first(), outer.first(), outer.last()) else {
        return first();
    };
    // One primitive in a function of its name: there is no line of the user's inside.
    let is_wrapped = path.is_some_and(|path| {
        let mut names = path.rsplit('/');
        names.next().is_some_and(|last| names.next() == Some(last))
    });
    let is_stack = matches!(locations.get(unnamed(locations, *callee).1), Location::CallSite(..));
    let is_of = |frame: &SourceLine, other: &SourceLine| {
        frame.file == other.file && frame.function.is_some() && frame.function == other.function
    };
    // The frames of a stack end with those of the call that was traced.
    let is_call = |frame: &SourceLine| is_of(frame, meant) || around(frame, root);
    let is_elsewhere = is_wrapped || (is_stack || around(leaf, meant)) && is_call(leaf);
    if is_elsewhere {
        return innermost(locations, *caller, depth).or_else(first);
    }
    if is_stack { innermost(locations, *callee, depth).or_else(first) } else { first() }
}

/// Whether a frame is of a function that the function of another frame is, or stands in.
fn around(frame: &SourceLine, other: &SourceLine) -> bool {
    let (Some(outer), Some(inner)) = (&frame.function, &other.function) else { return false };
    let rest = inner.strip_prefix(&**outer);
    frame.file == other.file && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(".<"))
}

/// A location without the names around it, and the innermost of them that is no function.
fn unnamed(locations: &Locations, mut id: LocationId) -> (Option<&str>, LocationId) {
    let mut path = None;
    for _ in 0..DEPTH {
        let Location::Name(name, child) = locations.get(id) else { break };
        if matches!(locations.get(*child), Location::File { .. }) {
            break;
        }
        (path, id) = (Some(&**name), *child);
    }
    (path, id)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stack(Locations);

    impl Stack {
        fn frame(&mut self, function: &str, line: u32) -> LocationId {
            let file = Location::File { file: "k.py".into(), line, column: 4 };
            let file = self.0.add(file);
            self.0.add(Location::Name(function.into(), file))
        }

        fn calls(&mut self, frames: &[(&str, u32)]) -> LocationId {
            let mut frames: Vec<LocationId> =
                frames.iter().map(|&(function, line)| self.frame(function, line)).collect();
            let last = frames.pop().unwrap();
            frames.into_iter().rev().fold(last, |outer, inner| self.call(inner, outer))
        }

        fn call(&mut self, inner: LocationId, outer: LocationId) -> LocationId {
            self.0.add(Location::CallSite(inner, outer))
        }

        fn named(&mut self, path: &str, id: LocationId) -> String {
            let path = self.0.add(Location::Name(path.into(), id));
            let id = self.0.add(Location::Name("primitive:".into(), path));
            user_line(&self.0, id).unwrap()
        }
    }

    fn line(path: &str, traced: &[(&str, u32)], meant: &[(&str, u32)]) -> String {
        let mut stack = Stack(Locations::default());
        let (traced, meant) = (stack.calls(traced), stack.calls(meant));
        let call = stack.call(traced, meant);
        stack.named(path, call)
    }

    #[test]
    fn what_jax_traced_once_has_the_line_of_the_call_that_was_meant() {
        let when = "kernel.<locals>._";
        assert_eq!(line("get/get", &[("kernel", 7)], &[("kernel", 9)]), "k.py:9:4");
        assert_eq!(line("get/get", &[("kernel", 7)], &[(when, 9)]), "k.py:9:4");
        assert_eq!(line("a/get/get", &[(when, 7)], &[("kernel", 9)]), "k.py:9:4");
        let (traced, meant) = ([("helper", 3), ("kernel", 7)], [("kernel", 9)]);
        assert_eq!(line("get/get", &traced, &meant), "k.py:9:4");
        let meant = [("helper", 3), ("other", 5), (when, 11)];
        assert_eq!(line("get/get", &traced, &meant), "k.py:3:4");
        assert_eq!(line("_where/select_n", &[("kernel", 7)], &[("kernel", 9)]), "k.py:9:4");
        assert_eq!(line("_where/select_n", &[("kernel", 7)], &[(when, 9)]), "k.py:9:4");
        assert_eq!(line("_where/select_n", &traced, &meant), "k.py:3:4");
    }

    #[test]
    fn functions_of_the_user_have_their_own_lines() {
        let mut stack = Stack(Locations::default());
        let calls = stack.calls(&[("helper", 3), ("other", 5), ("kernel", 7)]);
        assert_eq!(stack.named("add", calls), "k.py:3:4");
        let calls = stack.calls(&[("kernel.<locals>.helper", 3), ("kernel", 7)]);
        assert_eq!(stack.named("add", calls), "k.py:3:4");
        let own = [("scaled", 3), ("kernel", 7)];
        assert_eq!(line("scaled/add", &own, &[("kernel", 9)]), "k.py:3:4");
        let one = stack.calls(&[("kernel", 7)]);
        assert_eq!(stack.named("add", one), "k.py:7:4");
        assert_eq!(user_line(&stack.0, LocationId::UNKNOWN), None);
    }
}
