//! Promises about shapes that an exported program checks.
use super::super::{Cost, Cx, Entry, Kernel, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::index::{IndexReader, reader};

/// Nothing if the first operand is true, else an error in the words of `error_message`, with
/// `{0}`, `{1}`, … replaced by the other operands.
///
/// Shapes: a boolean `[]`, integers `[]`; no result.
/// Errors: `BadArgument` with the message, when the program is compiled if the operands are
/// known then.
/// Source: JAX, `jax._src.export.shape_poly`, the primitive `shape_assertion`.
pub(super) const TARGETS: &[Entry] = &[Entry::target("shape_assertion", infer, lower)];

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let scalars = match site.operands {
        [holds, values @ ..] => {
            *holds == Shape::scalar(DType::Pred)
                && values.iter().all(|value| value.rank() == 0 && reader(value.dtype).is_some())
        }
        [] => false,
    };
    if !scalars || !site.declared.is_empty() {
        let results = site.declared.len();
        let what = format!("{} of {:?} with {results} results", site.name, site.operands);
        return Err(Error::bad(what));
    }
    Ok(Vec::new())
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let message = site.attributes.text("error_message").unwrap_or("shape assertion failed");
    let readers = site.operands[1..].iter().filter_map(|value| reader(value.dtype)).collect();
    let assertion = Assertion { message: message.to_owned(), readers };
    let known: Option<Vec<&[u8]>> = site.known.iter().map(Option::as_deref).collect();
    match known {
        Some(values) => assertion.check(&values).map(|()| Lowered::Forward),
        None => Ok(Lowered::Kernel(Box::new(assertion))),
    }
}

#[derive(Debug)]
struct Assertion {
    message: String,
    readers: Vec<IndexReader>,
}

impl Assertion {
    fn check(&self, operands: &[&[u8]]) -> Result<()> {
        if operands[0].first() == Some(&1) {
            return Ok(());
        }
        let values = operands[1..].iter().zip(&self.readers).enumerate();
        let message = values.fold(self.message.clone(), |message, (at, (value, read))| {
            message.replace(&format!("{{{at}}}"), &read(value, 0).to_string())
        });
        Err(Error::bad(message))
    }
}

impl Kernel for Assertion {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], _: &mut [&mut [u8]]) -> Result<()> {
        self.check(operands)
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_stablehlo::ir::Attribute;

    fn case() -> Case {
        let message = Attribute::string("b is {0}, not {1} ({0})");
        Case::new("shape_assertion").attribute("error_message", message)
    }

    #[test]
    fn a_broken_promise_speaks_with_its_numbers() {
        let values =
            |case: Case| case.value(DType::S32, &[], &[7]).value(DType::S64, &[], &[8_i64]);
        let text = |case: Case| case.run(&TARGETS[0]).unwrap_err().to_string();
        assert_eq!(text(values(case().value(DType::Pred, &[], &[0_u8]))), "b is 7, not 8 (7)");
        assert!(values(case().value(DType::Pred, &[], &[1_u8])).run(&TARGETS[0]).is_ok());
    }

    #[test]
    fn what_is_known_is_checked_when_the_program_is_compiled() {
        let known = case().known(DType::Pred, &[], &[0_u8]).known(DType::S32, &[], &[7]);
        assert_eq!(known.lower(&TARGETS[0]).unwrap_err().to_string(), "b is 7, not {1} (7)");
    }
}
