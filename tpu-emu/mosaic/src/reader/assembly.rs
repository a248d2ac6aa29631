//! Attributes and types that are text in the bytecode: their dialects have no encoding for them.
use crate::ir::{
    AffineMap, AffineResult, Attribute, Cell, CombiningKind, ContractPrecision, CoreType, DYNAMIC,
    DimensionSemantics, DotDimensions, MemorySpace, PackFormat, PipelineMode, ReductionKind,
    RevisitMode, RoundingMode, Space, Strided, Type,
};
use tpu_mlir::Element;

/// Reads what stands between the angle brackets.
type Parse = fn(&str) -> Option<Attribute>;

/// The heads of the attributes that occur.
const HEADS: &[(&str, Parse)] = &[
    ("affine_map", affine_map),
    ("strided", strided),
    ("#tpu.memory_space", space),
    ("#tpu.core_type", |text| Some(Attribute::CoreType(CoreType::from_word(text)?))),
    ("#tpu.dimension_semantics", |text| {
        Some(Attribute::DimensionSemantics(DimensionSemantics::from_word(text)?))
    }),
    ("#tpu.pipeline_mode", |text| Some(Attribute::PipelineMode(PipelineMode::from_word(text)?))),
    ("#tpu.revisit_mode", |text| Some(Attribute::RevisitMode(RevisitMode::from_word(text)?))),
    ("#tpu.element_window", |text| match lists(text)?.as_slice() {
        [low, high] => Some(Attribute::ElementWindow(low.clone(), high.clone())),
        _ => None,
    }),
    ("#tpu.reduction_kind", |text| Some(Attribute::ReductionKind(ReductionKind::from_word(text)?))),
    ("#tpu.pack_format", |text| Some(Attribute::PackFormat(PackFormat::from_word(text)?))),
    ("#tpu.contract_precision", |text| {
        Some(Attribute::ContractPrecision(ContractPrecision::from_word(text)?))
    }),
    ("#tpu.rounding_mode", |text| Some(Attribute::RoundingMode(RoundingMode::from_word(text)?))),
    ("#tpu.dot_dimension_numbers", dot_dimensions),
    ("#vector.kind", |text| Some(Attribute::CombiningKind(CombiningKind::from_word(text)?))),
    ("#arith.fastmath", |text| promise("arith.fastmath", FASTMATH, text)),
    ("#arith.overflow", |text| promise("arith.overflow", OVERFLOW, text)),
];

const FASTMATH: &[&str] =
    &["none", "reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "fast"];
const OVERFLOW: &[&str] = &["none", "nsw", "nuw"];

/// An attribute from its text.
pub(super) fn attribute(text: &str) -> Attribute {
    let parsed = text.split_once('<').and_then(|(head, rest)| {
        let inside = rest.strip_suffix('>')?;
        let (_, parse) = HEADS.iter().find(|(known, _)| *known == head)?;
        parse(inside)
    });
    parsed.unwrap_or_else(|| Attribute::Unknown(text.into()))
}

/// A type from its text.
pub(super) fn value_type(text: &str) -> Type {
    match text {
        "!tpu.semaphore" => Type::Cell(Cell::Semaphore),
        "!tpu.dma_semaphore" => Type::Cell(Cell::DmaSemaphore),
        _ => match Element::NAMES.iter().find(|(_, name)| *name == text) {
            Some((element, _)) => Type::Scalar(*element),
            None => Type::Unknown(text.into()),
        },
    }
}

fn space(text: &str) -> Option<Attribute> {
    let (memory, core) = match text.split_once(',') {
        Some((memory, core)) => (memory, Some(CoreType::from_word(core.trim())?)),
        None => (text, None),
    };
    Some(Attribute::Space(Space { memory: MemorySpace::from_word(memory)?, core }))
}

fn promise(head: &'static str, known: &[&str], text: &str) -> Option<Attribute> {
    let is_known = text.split(',').all(|word| known.contains(&word.trim()));
    is_known.then(|| Attribute::Promise(head, text.into()))
}

/// `[128, 1], offset: 3`, with `?` for what is not known.
fn strided(text: &str) -> Option<Attribute> {
    let number = |text: &str| match text.trim() {
        "?" => Some(DYNAMIC),
        text => text.parse().ok(),
    };
    let (strides, rest) = text.strip_prefix('[')?.split_once(']')?;
    let strides = match strides.trim() {
        "" => Vec::new(),
        strides => strides.split(',').map(number).collect::<Option<_>>()?,
    };
    let offset = match rest.trim() {
        "" => 0,
        rest => number(rest.strip_prefix(", offset:")?)?,
    };
    Some(Attribute::Strided(Strided { offset, strides }))
}

/// `[1, 2], [3], []`.
fn lists(text: &str) -> Option<Vec<Vec<i64>>> {
    let mut lists = Vec::new();
    let mut rest = text.trim();
    loop {
        let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
        let numbers = match inside.trim() {
            "" => Vec::new(),
            inside => {
                inside.split(',').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?
            }
        };
        lists.push(numbers);
        rest = after.trim();
        if rest.is_empty() {
            return Some(lists);
        }
        rest = rest.strip_prefix(',')?.trim();
    }
}

fn dot_dimensions(text: &str) -> Option<Attribute> {
    let lists = <[Vec<i64>; 7]>::try_from(lists(text)?).ok()?;
    let [lhs_contracting, rhs_contracting, lhs_free, rhs_free, output, lhs_batch, rhs_batch] =
        lists;
    if !output.len().is_multiple_of(2) {
        return None;
    }
    let output = output.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    Some(Attribute::DotDimensions(DotDimensions {
        lhs_contracting,
        rhs_contracting,
        lhs_free,
        rhs_free,
        output,
        lhs_batch,
        rhs_batch,
    }))
}

/// `(d0, d1) -> (d0, 0)`.
fn affine_map(text: &str) -> Option<Attribute> {
    let (from, to) = text.split_once("->")?;
    let names = |text: &str| -> Option<Vec<String>> {
        let inside = text.trim().strip_prefix('(')?.strip_suffix(')')?.trim();
        let names = inside.split(',').map(|name| name.trim().to_owned());
        Some(if inside.is_empty() { Vec::new() } else { names.collect() })
    };
    let dims = names(from)?;
    let result = |text: String| match dims.iter().position(|dim| *dim == text) {
        Some(dim) => Some(AffineResult::Dim(dim)),
        None => Some(AffineResult::Constant(text.parse().ok()?)),
    };
    let results = names(to)?.into_iter().map(result).collect::<Option<_>>()?;
    let numbered = dims.iter().enumerate().all(|(at, name)| *name == format!("d{at}"));
    numbered.then_some(Attribute::AffineMap(AffineMap { dims: dims.len(), results }))
}

#[cfg(test)]
mod tests {
    use super::{attribute, value_type};
    use crate::ir::{Attribute, CoreType, DYNAMIC, MemorySpace, Space, Strided, Type};

    #[test]
    fn a_memory_of_another_core_says_whose_it_is() {
        let expected =
            Space { memory: MemorySpace::Semaphore, core: Some(CoreType::VectorSubcore) };
        let text = "#tpu.memory_space<semaphore_mem, sc_vector_subcore>";
        assert_eq!(attribute(text), Attribute::Space(expected));
    }

    #[test]
    fn strides_that_are_not_known_are_read() {
        let layout = Strided { offset: DYNAMIC, strides: vec![131_072, DYNAMIC] };
        let read = attribute("strided<[131072, ?], offset: ?>");
        assert_eq!(read, Attribute::Strided(layout));
        let plain = Strided { offset: 0, strides: vec![128, 1] };
        assert_eq!(attribute("strided<[128, 1]>"), Attribute::Strided(plain));
    }

    #[test]
    fn what_nobody_knows_stays_text() {
        for text in [
            "#tpu.memory_space<moon>",
            "#tpu.memory_space<vmem",
            "#tpu.tiled<(8,128),[1,1]>",
            "affine_map<(d0)[s0] -> (d0 + s0)>",
            "affine_map<(d1) -> (d1)>",
            "#tpu.dot_dimension_numbers<[1], [0]>",
            "#tpu.element_window<[1], [99999999999999999999]>",
            "",
            "<>",
        ] {
            assert_eq!(attribute(text), Attribute::Unknown(text.into()));
        }
        assert_eq!(value_type("!tpu.moon"), Type::Unknown("!tpu.moon".into()));
    }
}
