//! Unwind rules: how the caller's registers follow from the callee's, read from `.eh_frame`.
//!
//! Only what the tables say is followed. Code without a table ends a walk: a guess by frame
//! pointers gives wrong frames in code that uses the register for something else.
use super::entry::{self, Bytes};
use super::modules::{Module, UnwindTables};
use gimli::{
    CfaRule, EhFrame, Operation, Register, RegisterRule, UnwindContext, UnwindContextStorage,
    UnwindExpression, X86_64,
};

/// Where a rule starts to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Base {
    /// The canonical frame address: the caller's stack pointer.
    #[default]
    Cfa,
    /// The callee's stack pointer.
    Sp,
    /// The callee's frame pointer.
    Bp,
}

/// An address: a base and an offset in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BaseOffset {
    pub(super) offset: i32,
    pub(super) base: Base,
}

/// How to leave a function at one of its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// The caller's registers.
    Caller {
        /// The caller's stack pointer, or where it is stored.
        cfa: BaseOffset,
        /// Whether `cfa` is a place in memory.
        cfa_in_memory: bool,
        /// Where the return address is.
        return_at: BaseOffset,
        /// Where the caller's frame pointer is; `None` where the callee keeps it.
        bp_at: Option<BaseOffset>,
        /// Whether the caller was interrupted, so that its address is exact.
        interrupted: bool,
    },
    /// There is no caller.
    End,
    /// The tables do not say.
    Unknown,
}

/// What reading a rule needs, kept to be allocated once.
pub(super) type CfiContext = UnwindContext<usize, OnHeap>;

/// Growing storage, so that a walk takes little of a small stack.
#[derive(Debug)]
pub(super) struct OnHeap;

impl UnwindContextStorage<usize> for OnHeap {
    type Rules = Vec<(Register, RegisterRule<usize>)>;
    type Stack = Vec<gimli::UnwindTableRow<usize, Self>>;
}

/// The rule at `address`, a code address in `module`.
pub(super) fn rule(module: &Module, address: u64, context: &mut CfiContext) -> Rule {
    let read = |tables| read_rule(tables, address, context);
    module.unwind.as_ref().and_then(read).unwrap_or(Rule::Unknown)
}

fn read_rule(tables: &UnwindTables, address: u64, context: &mut CfiContext) -> Option<Rule> {
    let ((bases, section), function) = (entry::section(tables), entry::entry(tables, address)?);
    let row = function.unwind_info_for_address(&section, &bases, context, address).ok()?;

    let return_at = match row.register(X86_64::RA) {
        None | Some(RegisterRule::Undefined) => return Some(Rule::End),
        Some(rule) => place(&section, rule)?,
    };
    let bp_at = match row.register(X86_64::RBP) {
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => None,
        Some(rule) => Some(place(&section, rule)?),
    };
    let (cfa, cfa_in_memory) = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            (BaseOffset { base: base(*register)?, offset: i32::try_from(*offset).ok()? }, false)
        }
        CfaRule::Expression(expression) => simple(&section, expression)?,
    };
    let interrupted = function.is_signal_trampoline();
    Some(Rule::Caller { cfa, cfa_in_memory, return_at, bp_at, interrupted })
}

fn base(register: Register) -> Option<Base> {
    match register {
        X86_64::RSP => Some(Base::Sp),
        X86_64::RBP => Some(Base::Bp),
        _ => None,
    }
}

fn place(section: &EhFrame<Bytes>, rule: RegisterRule<usize>) -> Option<BaseOffset> {
    match rule {
        RegisterRule::Offset(offset) => {
            Some(BaseOffset { base: Base::Cfa, offset: i32::try_from(offset).ok()? })
        }
        RegisterRule::Expression(expression) => match simple(section, &expression)? {
            (place, false) => Some(place),
            (_, true) => None,
        },
        _ => None,
    }
}

/// An expression of the form register + offset, and whether it reads memory there.
fn simple(
    section: &EhFrame<Bytes>,
    expression: &UnwindExpression<usize>,
) -> Option<(BaseOffset, bool)> {
    let expression: gimli::Expression<Bytes> = expression.get(section).ok()?;
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let mut operations = expression.operations(encoding);
    let Operation::RegisterOffset { register, offset, .. } = operations.next().ok()?? else {
        return None;
    };
    let place = BaseOffset { base: base(register)?, offset: i32::try_from(offset).ok()? };
    match operations.next().ok()? {
        None => Some((place, false)),
        Some(Operation::Deref { size: 8, space: false, .. }) => {
            operations.next().ok()?.is_none().then_some((place, true))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::modules::Modules;
    use super::*;

    #[test]
    fn a_function_starts_with_its_return_address_on_top() {
        let here = a_function_starts_with_its_return_address_on_top as fn() as usize as u64;
        let modules = Modules::load();
        let found = rule(modules.at(here).unwrap(), here, &mut CfiContext::new_in());
        let Rule::Caller { cfa, cfa_in_memory, return_at, .. } = found else { panic!("{found:?}") };
        assert_eq!((cfa, cfa_in_memory), (BaseOffset { base: Base::Sp, offset: 8 }, false));
        assert_eq!(return_at, BaseOffset { base: Base::Cfa, offset: -8 });
    }

    #[test]
    fn data_has_no_rule() {
        static DATA: u64 = 1;
        let modules = Modules::load();
        let here = (&raw const DATA).addr() as u64;
        let module = modules.at(here).unwrap();
        assert_eq!(rule(module, here, &mut CfiContext::new_in()), Rule::Unknown);
    }
}
