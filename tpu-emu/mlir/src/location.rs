//! Where operations were written.
use std::sync::Arc;

/// An index into [`Locations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LocationId(pub u32);

impl LocationId {
    /// Nobody knows where.
    pub const UNKNOWN: Self = Self(0);
}

/// Where something was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Nobody knows.
    Unknown,
    /// A place in a file.
    File {
        /// The path.
        file: Arc<str>,
        /// Line, from 1.
        line: u32,
        /// Column, from 1; 0 if unknown.
        column: u32,
    },
    /// A name given to a place: a function of the Python stack, or the path of an operation
    /// (`jit(f)/add`).
    Name(Arc<str>, LocationId),
    /// The first was called from the second.
    CallSite(LocationId, LocationId),
    /// Several at once.
    Fused(Vec<LocationId>),
}

/// A line of the user's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// Path of the file.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// The function around it, if named.
    pub function: Option<Arc<str>>,
}

/// All locations of a module; entry 0 is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locations {
    entries: Vec<Location>,
}

impl Default for Locations {
    fn default() -> Self {
        Self { entries: vec![Location::Unknown] }
    }
}

impl Locations {
    /// Adds one.
    pub fn add(&mut self, location: Location) -> LocationId {
        let id = u32::try_from(self.entries.len()).unwrap_or(0);
        if id != 0 {
            self.entries.push(location);
        }
        LocationId(id)
    }

    /// The location with this number; unknown for one that was never given out.
    pub fn get(&self, id: LocationId) -> &Location {
        self.entries.get(id.0 as usize).unwrap_or(&Location::Unknown)
    }

    /// The location with this number, if one was given out.
    pub fn entry(&self, id: LocationId) -> Option<&Location> {
        self.entries.get(id.0 as usize)
    }

    /// The name of the operation (`jit(f)/mul`), if it has one.
    pub fn operation_name(&self, id: LocationId) -> Option<&str> {
        match self.get(id) {
            Location::Name(name, _) => Some(name),
            _ => None,
        }
    }

    /// The stack of source lines, innermost first.
    pub fn stack(&self, id: LocationId) -> Vec<SourceLine> {
        let mut lines = Vec::new();
        // A damaged module can have a cycle: the number of steps is bounded.
        let mut left = 4096_usize;
        self.walk(id, None, &mut lines, &mut left);
        lines
    }

    fn walk(
        &self,
        id: LocationId,
        function: Option<&Arc<str>>,
        lines: &mut Vec<SourceLine>,
        left: &mut usize,
    ) {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        match self.get(id) {
            Location::Unknown => {}
            Location::File { file, line, column } => lines.push(SourceLine {
                file: Arc::clone(file),
                line: *line,
                column: *column,
                function: function.cloned(),
            }),
            Location::Name(name, child) => self.walk(*child, Some(name), lines, left),
            Location::CallSite(callee, caller) => {
                self.walk(*callee, None, lines, left);
                self.walk(*caller, None, lines, left);
            }
            Location::Fused(parts) => {
                if let Some(&first) = parts.first() {
                    self.walk(first, function, lines, left);
                }
            }
        }
    }

    /// The innermost line as `file:line:column`, or nothing.
    pub fn line(&self, id: LocationId) -> Option<String> {
        let stack = self.stack(id);
        let line = stack.first()?;
        Some(format!("{}:{}:{}", line.file, line.line, line.column))
    }

    /// The location as MLIR prints it where it says where something is: `loc("f"("file":1:2))`,
    /// with calls written out as `callsite(… at …)`.
    pub fn to_mlir(&self, id: LocationId) -> String {
        let mut text = String::from("loc(");
        self.write(id, &mut text, DEPTH);
        text.push(')');
        text
    }

    fn write(&self, id: LocationId, text: &mut String, depth: usize) {
        // A damaged module can have a cycle, and chains of calls may be long.
        let Some(depth) = depth.checked_sub(1).filter(|_| text.len() < LENGTH) else {
            text.push_str("unknown");
            return;
        };
        match self.get(id) {
            Location::Unknown => text.push_str("unknown"),
            Location::File { file, line, column } => {
                quote(file, text);
                text.push_str(&format!(":{line}:{column}"));
            }
            Location::Name(name, child) => {
                quote(name, text);
                if *self.get(*child) != Location::Unknown {
                    text.push('(');
                    self.write(*child, text, depth);
                    text.push(')');
                }
            }
            Location::CallSite(callee, caller) => {
                text.push_str("callsite(");
                self.write(*callee, text, depth);
                text.push_str(" at ");
                self.write(*caller, text, depth);
                text.push(')');
            }
            Location::Fused(parts) => {
                text.push_str("fused[");
                for (number, part) in parts.iter().enumerate() {
                    if text.len() >= LENGTH {
                        break;
                    }
                    text.push_str(if number == 0 { "" } else { ", " });
                    self.write(*part, text, depth);
                }
                text.push(']');
            }
        }
    }
}

/// Locations inside of each other that are printed.
const DEPTH: usize = 512;
/// Bytes of a printed location, after which the rest is unknown.
const LENGTH: usize = 1 << 16;

/// A string as MLIR prints it.
pub fn quote(string: &str, text: &mut String) {
    text.push('"');
    for byte in string.bytes() {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' if byte != b'"' => text.push(byte.into()),
            _ => text.push_str(&format!("\\{byte:02X}")),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::{Location, LocationId, Locations};

    #[test]
    fn a_chain_of_calls_is_printed_as_mlir_does() {
        let mut all = Locations::default();
        let file = |line| Location::File { file: "f.py".into(), line, column: 5 };
        let (inner, outer) = (all.add(file(12)), all.add(file(40)));
        let inner = all.add(Location::Name("f".into(), inner));
        let outer = all.add(Location::Name("<module>".into(), outer));
        let call = all.add(Location::CallSite(inner, outer));
        let name = all.add(Location::Name("jit(\"x\")/add".into(), call));
        assert_eq!(
            all.to_mlir(name),
            "loc(\"jit(\\22x\\22)/add\"(callsite(\"f\"(\"f.py\":12:5) at \
             \"<module>\"(\"f.py\":40:5))))"
        );
        assert_eq!(all.to_mlir(LocationId::UNKNOWN), "loc(unknown)");
        let both = all.add(Location::Fused(vec![inner, LocationId::UNKNOWN]));
        assert_eq!(all.to_mlir(both), "loc(fused[\"f\"(\"f.py\":12:5), unknown])");
    }

    #[test]
    fn what_doubles_is_cut_short() {
        let mut all = Locations::default();
        let mut last = all.add(Location::Name("x".into(), LocationId::UNKNOWN));
        for _ in 0..200 {
            last = all.add(Location::Fused(vec![last; 100]));
        }
        assert!(all.to_mlir(last).len() < 1 << 20);
        for _ in 0..100_000 {
            last = all.add(Location::CallSite(last, last));
        }
        assert!(all.to_mlir(last).len() < 1 << 20);
    }
}
