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
}
