//! What the replicas of a run give one another, where each runs a program of its own.
use std::fmt;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_kernels::aligned::Aligned;

/// A collective, as the replicas compare it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collective {
    /// What every member must say alike: operation, operand, computation, groups.
    pub what: Arc<str>,
    /// Where it was written.
    pub line: Option<Arc<str>>,
    /// The replicas that take part, in the order of the group.
    pub group: Vec<usize>,
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.line.iter().try_for_each(|line| write!(f, " ({line})"))
    }
}

/// What all members gave, in the order of the group.
pub type Given = Arc<Vec<Aligned>>;

/// The other replicas of a run, as one of them sees them.
pub trait Others: fmt::Debug + Send + Sync {
    /// Gives an array to the members of a collective, waits for theirs.
    ///
    /// # Errors
    /// What another replica's run ended with; that the replicas do not agree; that one does not
    /// come.
    fn exchange(&self, collective: &Collective, bytes: &[u8]) -> Result<Given>;
}
