//! The values of a function while it is read: the code numbers them by region.
use crate::error::ReadError;

/// Regions inside of each other that are read.
pub const REGION_DEPTH: usize = 64;

/// A value of a function: an index into its list of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// The values of a function, with what their types are told as.
#[derive(Debug)]
pub struct Values<T> {
    /// The type of each.
    pub types: Vec<T>,
    /// For each isolated region around, what the numbers in it stand for.
    scopes: Vec<Vec<Option<Value>>>,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self { types: Vec::new(), scopes: Vec::new() }
    }
}

/// The numbers that a region gives to its values.
#[derive(Debug)]
pub struct Numbers {
    start: usize,
    next: usize,
    end: usize,
}

impl<T> Values<T> {
    /// A new value.
    ///
    /// # Errors
    /// More than four billion.
    pub fn add(&mut self, at: usize, of: T) -> Result<Value, ReadError> {
        let number = u32::try_from(self.types.len())
            .map_err(|_| ReadError::at(at, "too many values in a function"))?;
        self.types.push(of);
        Ok(Value(number))
    }

    fn scope(&mut self, at: usize) -> Result<&mut Vec<Option<Value>>, ReadError> {
        self.scopes.last_mut().ok_or_else(|| ReadError::at(at, "a value outside of a function"))
    }

    /// What a number stands for.
    ///
    /// # Errors
    /// A number without a value, or one that comes later.
    pub fn get(&mut self, at: usize, number: usize) -> Result<Value, ReadError> {
        let scope = self.scope(at)?;
        match scope.get(number) {
            Some(Some(value)) => Ok(*value),
            Some(None) => Err(ReadError::at(at, format!("value {number} is used before it is"))),
            None => Err(ReadError::at(at, format!("value {number} of {}", scope.len()))),
        }
    }

    /// Begins regions that see nothing from outside.
    pub fn isolate(&mut self) {
        self.scopes.push(Vec::new());
    }

    /// Ends what [`Values::isolate`] began.
    pub fn join(&mut self) {
        self.scopes.pop();
    }

    /// Begins a region with this many values.
    ///
    /// # Errors
    /// No function around.
    pub fn begin(&mut self, at: usize, count: usize) -> Result<Numbers, ReadError> {
        let scope = self.scope(at)?;
        let start = scope.len();
        scope.resize(start + count, None);
        Ok(Numbers { start, next: start, end: start + count })
    }

    /// Ends a region: its values are seen no longer.
    ///
    /// # Errors
    /// No function around.
    pub fn end(&mut self, at: usize, numbers: &Numbers) -> Result<(), ReadError> {
        self.scope(at)?.truncate(numbers.start);
        Ok(())
    }

    /// Gives the next number of a region to a value.
    ///
    /// # Errors
    /// A region with more values than it said.
    pub fn define(
        &mut self,
        at: usize,
        numbers: &mut Numbers,
        value: Value,
    ) -> Result<(), ReadError> {
        let Numbers { next, end, .. } = *numbers;
        match self.scope(at)?.get_mut(next) {
            Some(slot) if next < end => *slot = Some(value),
            _ => {
                return Err(ReadError::at(at, format!("more values than the {end} of the region")));
            }
        }
        numbers.next += 1;
        Ok(())
    }

    /// Bytes that the numbers of a region take.
    pub const fn bytes(count: usize) -> usize {
        count.saturating_mul(size_of::<Option<Value>>())
    }
}
