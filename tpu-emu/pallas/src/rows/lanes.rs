//! Operations over the lanes of a SparseCore's vectors.
use super::Site;
use crate::lower::code::{
    Code, Refused, attributes, integers, is_integer, signed, storage, unsigned, width,
};
use tpu_mosaic::ir::{Attribute, Element, Op, PackFormat, ReductionKind};
use tpu_stablehlo::ir::{
    Attribute as Stable, Attributes, Block, LocationId, Name, Operation, Region, Value,
};

pub(super) fn row(op: Op) -> Option<super::Row> {
    Some(match op {
        Op::TpuScan => scan,
        Op::TpuAllReduce => all_reduce,
        Op::TpuPackSubelements => pack,
        Op::TpuUnpackSubelements => unpack,
        _ => return None,
    })
}

pub(super) fn several(op: Op) -> Option<super::Several> {
    Some(match op {
        Op::TpuSort => sort,
        Op::TpuScanCount => scan_count,
        Op::ArithMulsiExtended => |site| extended(site, false),
        Op::ArithMuluiExtended => |site| extended(site, true),
        _ => return None,
    })
}

/// The bits of what changes nothing, and the name of what combines two.
fn combiner(kind: ReductionKind, element: Element) -> Option<(&'static str, u64)> {
    let bits = width(element)?;
    let all = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let float = !is_integer(element);
    let infinity: u64 = match element {
        Element::F32 => 0x7f80_0000,
        Element::Bf16 => 0x7f80,
        Element::F16 => 0x7c00,
        _ => 0,
    };
    Some(match kind {
        ReductionKind::Sum => ("stablehlo.add", 0),
        ReductionKind::Max | ReductionKind::Maxf if float => {
            ("stablehlo.maximum", infinity | 1 << (bits - 1))
        }
        ReductionKind::Min | ReductionKind::Minf if float => ("stablehlo.minimum", infinity),
        ReductionKind::Max | ReductionKind::Maxsi => ("stablehlo.maximum", 1 << (bits - 1)),
        ReductionKind::Min | ReductionKind::Minsi => ("stablehlo.minimum", all >> 1),
        ReductionKind::Maxui => ("stablehlo.maximum", 0),
        ReductionKind::Minui => ("stablehlo.minimum", all),
        _ => return None,
    })
}

fn kind(site: &Site<'_>) -> Refused<ReductionKind> {
    match site.attribute("kind")? {
        Attribute::ReductionKind(kind) => Ok(*kind),
        other => site.refused(format!("{other:?}")),
    }
}

/// Elements as the type that they are combined in: booleans are counted, and some kinds have no
/// sign.
fn counted(site: &mut Site<'_>, value: Value, kind: ReductionKind) -> Value {
    let element = site.code.element(value);
    let value = match element {
        Element::Pred => site.code.convert(value, site.element),
        _ => value,
    };
    let without_sign = matches!(kind, ReductionKind::Maxui | ReductionKind::Minui);
    let element = site.code.element(value);
    if without_sign { site.code.bits(value, unsigned(element)) } else { value }
}

/// Each element combined with those before it; what is masked out changes nothing.
fn scan(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let kind = kind(site)?;
    let value = counted(site, value, kind);
    let given = value;
    let (element, dims) = (site.code.element(value), site.code.dims(value));
    let axis = site.axis("dimension", &dims)?;
    let Some((name, neutral)) = combiner(kind, element) else {
        return site.refused(format!("{kind:?} of {element:?}"));
    };
    let bytes = neutral.to_le_bytes();
    let size = element.bytes().unwrap_or(1);
    let value = match site.operands.get(1) {
        Some(&mask) => {
            let nothing = site.code.splat(element, &dims, &bytes[..size]);
            site.code.select(mask, value, nothing)
        }
        None => value,
    };
    let code = &mut *site.code;
    let init = code.splat(element, &[], &bytes[..size]);
    let ones = || integers(vec![1; dims.len()]);
    let mut window = vec![1; dims.len()];
    window[axis] = dims[axis].max(1);
    let mut padding = vec![0; 2 * dims.len()];
    padding[2 * axis] = dims[axis].max(1) - 1;
    let of = attributes([
        ("base_dilations", ones()),
        ("padding", integers(padding)),
        ("window_dilations", ones()),
        ("window_dimensions", integers(window)),
        ("window_strides", ones()),
    ]);
    let body = combining(code, name, element);
    let result = code.value(element, &dims);
    code.push("stablehlo.reduce_window", &[value, init], of.clone(), vec![body], vec![result]);
    let Some(&mask) = site.operands.get(1).filter(|_| name != "stablehlo.add") else {
        return Ok(code.bits(result, site.element));
    };
    // Before the first lane that counts there is no extreme: what is there stays.
    let ones = code.convert(mask, Element::S32);
    let zero = code.integer(Element::S32, &[], 0);
    let body = combining(code, "stablehlo.add", Element::S32);
    let seen = code.value(Element::S32, &dims);
    code.push("stablehlo.reduce_window", &[ones, zero], of, vec![body], vec![seen]);
    let none = code.integer(Element::S32, &dims, 0);
    let any = code.compare("GT", seen, none);
    let made = code.select(any, result, given);
    Ok(code.bits(made, site.element))
}

/// A region of one operation on two elements.
fn combining(code: &mut Code, name: &'static str, element: Element) -> Region {
    let arguments = vec![code.value(element, &[]), code.value(element, &[])];
    let made = code.value(element, &[]);
    let operations = vec![
        plain(name, arguments.clone(), Attributes::default(), vec![made]),
        plain("stablehlo.return", vec![made], Attributes::default(), Vec::new()),
    ];
    Region { blocks: vec![Block { arguments, operations }] }
}

fn plain(
    name: &'static str,
    operands: Vec<Value>,
    attributes: Attributes,
    results: Vec<Value>,
) -> Operation {
    let (regions, location) = (Vec::new(), LocationId::UNKNOWN);
    Operation { name: Name::Borrowed(name), operands, results, attributes, regions, location }
}

/// What all elements along a dimension give, in each of them.
fn all_reduce(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let dims = site.code.dims(value);
    let axis = site.axis("dim", &dims)?;
    let kind = kind(site)?;
    let (value, name, neutral) = if kind == ReductionKind::FindFirstSet {
        // The number of the first that is true; how many there are without one.
        let (element, size) = (site.element, dims[axis]);
        let places = site.code.iota(element, &dims, axis);
        let none = site.code.integer(element, &dims, size);
        let flag = site.code.convert(value, Element::Pred);
        let found = site.code.select(flag, places, none);
        (found, "stablehlo.minimum", size.cast_unsigned())
    } else {
        let value = counted(site, value, kind);
        let element = site.code.element(value);
        match combiner(kind, element) {
            Some((name, neutral)) => (value, name, neutral),
            None => return site.refused(format!("{kind:?} of {element:?}")),
        }
    };
    let code = &mut *site.code;
    let element = code.element(value);
    let size = element.bytes().unwrap_or(1);
    let init = code.splat(element, &[], &neutral.to_le_bytes()[..size]);
    let reduced = code.reduce(name, value, init, &[axis]);
    let kept: Vec<usize> = (0..dims.len()).filter(|&other| other != axis).collect();
    let spread = code.broadcast(reduced, &dims, &kept);
    Ok(code.bits(spread, site.element))
}

/// The place of each source in a packed element.
fn positions(site: &Site<'_>, count: usize) -> Refused<Vec<usize>> {
    let given = site.integers("positions")?;
    let mut places = vec![usize::MAX; count];
    for (source, &at) in given.iter().enumerate() {
        match usize::try_from(at).ok().and_then(|at| places.get_mut(at)) {
            Some(place) if *place == usize::MAX => *place = source,
            _ => return site.refused(format!("positions {given:?} of {count}")),
        }
    }
    if given.len() != count {
        return site.refused(format!("positions {given:?} of {count}"));
    }
    Ok(places)
}

fn format(site: &Site<'_>) -> Refused<PackFormat> {
    match site.attribute("pack_format")? {
        Attribute::PackFormat(format) => Ok(*format),
        other => site.refused(format!("{other:?}")),
    }
}

fn converted(code: &mut Code, value: Value, to: Element, without_sign: bool) -> Value {
    let from = code.element(value);
    if !without_sign || !is_integer(from) || !is_integer(to) {
        return code.convert(value, to);
    }
    let value = code.bits(value, unsigned(from));
    let made = code.convert(value, unsigned(to));
    code.bits(made, to)
}

/// Sources as narrower elements: one behind the other, or taking turns.
fn pack(site: &mut Site<'_>) -> Refused<Value> {
    let places = positions(site, site.operands.len())?;
    let format = format(site)?;
    let without_sign = site.operation.flag("unsigned_integers");
    let (element, result) = (site.element, site.dims.clone());
    let mut parts = Vec::with_capacity(places.len());
    for source in places {
        let source = site.operand(source)?;
        parts.push(converted(site.code, source, element, without_sign));
    }
    let code = &mut *site.code;
    let Some(&first) = parts.first() else { return site.refused("no operand") };
    let count: i64 = code.dims(first).iter().product();
    let whole: i64 = result.iter().product();
    if whole != count * signed(parts.len()) {
        return site.refused(format!("{count} elements, {} times, as {result:?}", parts.len()));
    }
    let joined = match format {
        PackFormat::Compressed => {
            let flat: Vec<Value> =
                parts.into_iter().map(|part| code.reshape(part, &[count])).collect();
            code.concatenate(&flat, 0)
        }
        PackFormat::Interleaved => {
            let columns: Vec<Value> =
                parts.into_iter().map(|part| code.reshape(part, &[count, 1])).collect();
            code.concatenate(&columns, 1)
        }
    };
    Ok(code.reshape(joined, &result))
}

/// One of the sources of a packed vector.
fn unpack(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let format = format(site)?;
    let index = site.integer("index")?;
    let (element, result) = (site.element, site.dims.clone());
    let without_sign = site.operation.flag("unsigned_integers");
    let code = &mut *site.code;
    let whole: i64 = code.dims(value).iter().product();
    let count: i64 = result.iter().product();
    if count == 0 || whole % count != 0 || !(0..whole / count).contains(&index) {
        return site.refused(format!("part {index} of {whole} elements as {result:?}"));
    }
    let part = match format {
        PackFormat::Compressed => {
            let flat = code.reshape(value, &[whole]);
            code.part(flat, 0, index * count, (index + 1) * count)
        }
        PackFormat::Interleaved => {
            let columns = code.reshape(value, &[count, whole / count]);
            code.part(columns, 1, index, index + 1)
        }
    };
    let part = code.reshape(part, &result);
    Ok(converted(code, part, element, without_sign))
}

/// Keys with their values, sorted; what is masked out comes last.
fn sort(site: &mut Site<'_>) -> Refused<Vec<Value>> {
    let (keys, values) = (site.operand(0)?, site.operand(1)?);
    let dims = site.code.dims(keys);
    if dims.len() != 1 || site.code.dims(values) != dims {
        return site.refused(format!("{dims:?} and {:?}", site.code.dims(values)));
    }
    let mask = match site.operands.get(2) {
        Some(&mask) => mask,
        None => site.code.integer(Element::Pred, &dims, 1),
    };
    let descending = site.operation.flag("descending");
    let code = &mut *site.code;
    // JAX has turned the sign of signed keys over.
    let element = code.element(keys);
    let keys = code.bits(keys, unsigned(element));
    let left = code.map("stablehlo.not", &[mask]);
    let elements = [Element::Pred, code.element(keys), code.element(values)];
    let arguments: Vec<Value> =
        elements.iter().flat_map(|&of| [of, of]).map(|of| code.value(of, &[])).collect();
    let [out, other_out, key, other, ..] = arguments[..] else { return Ok(Vec::new()) };
    let mut flag = || code.value(Element::Pred, &[]);
    let (before, counts, less, tie, first) = (flag(), flag(), flag(), flag(), flag());
    let word = |word: &'static str, float: bool| {
        let direction = ("comparison_direction", Stable::Word(word.into()));
        if float {
            attributes([direction, ("compare_type", Stable::Word("TOTALORDER".into()))])
        } else {
            attributes([direction])
        }
    };
    let none = Attributes::default;
    let direction = if descending { "GT" } else { "LT" };
    let float = !is_integer(elements[1]);
    let operations = vec![
        plain("stablehlo.compare", vec![out, other_out], word("LT", false), vec![before]),
        // What is masked out stays in its order: `false` is less than `true`.
        plain("stablehlo.not", vec![out], none(), vec![counts]),
        plain("stablehlo.compare", vec![key, other], word(direction, float), vec![less]),
        plain("stablehlo.and", vec![counts, less], none(), vec![tie]),
        plain("stablehlo.or", vec![before, tie], none(), vec![first]),
        plain("stablehlo.return", vec![first], none(), Vec::new()),
    ];
    let body = Region { blocks: vec![Block { arguments, operations }] };
    let results: Vec<Value> = elements.iter().map(|&of| code.value(of, &dims)).collect();
    let of = attributes([
        ("dimension", Stable::Integer(0, Element::S64)),
        ("is_stable", Stable::Bool(true)),
    ]);
    code.push("stablehlo.sort", &[left, keys, values], of, vec![body], results.clone());
    let sorted = code.map("stablehlo.not", &[results[0]]);
    let keys = code.bits(results[1], element);
    Ok(vec![sorted, keys, results[2]])
}

/// How often each value came up to its lane, and where each came last.
fn scan_count(site: &mut Site<'_>) -> Refused<Vec<Value>> {
    let (mask, values) = (site.operand(0)?, site.operand(1)?);
    let dims = site.code.dims(values);
    let [size] = dims[..] else { return site.refused(format!("{dims:?}")) };
    let Some(counted) = site.results.get(1).map(|(element, _)| storage(*element)) else {
        return site.refused("one result");
    };
    let code = &mut *site.code;
    let square = [size, size];
    // Row: the lane; column: the one that it is compared with.
    let own = code.broadcast(values, &square, &[0]);
    let other = code.broadcast(values, &square, &[1]);
    let same = code.compare("EQ", own, other);
    let there = code.broadcast(mask, &square, &[1]);
    let same = code.map("stablehlo.and", &[same, there]);
    let rows = code.iota(Element::S32, &square, 0);
    let columns = code.iota(Element::S32, &square, 1);
    let before = code.compare("LE", columns, rows);
    let up_to = code.map("stablehlo.and", &[same, before]);
    let ones = code.convert(up_to, counted);
    let zero = code.integer(counted, &[], 0);
    let counts = code.reduce("stablehlo.add", ones, zero, &[1]);
    let behind = code.compare("GT", columns, rows);
    let later = code.map("stablehlo.and", &[same, behind]);
    let no = code.integer(Element::Pred, &[], 0);
    let later = code.reduce("stablehlo.or", later, no, &[1]);
    let last = code.map("stablehlo.not", &[later]);
    let last = code.map("stablehlo.and", &[last, mask]);
    Ok(vec![last, counts])
}

/// The low and the high half of a product.
fn extended(site: &mut Site<'_>, without_sign: bool) -> Refused<Vec<Value>> {
    let (a, b) = (site.operand(0)?, site.operand(1)?);
    let element = site.code.element(a);
    if element != Element::S32 {
        return site.refused(format!("of {element:?}"));
    }
    let code = &mut *site.code;
    let wide = |code: &mut Code, value: Value| {
        if without_sign {
            let bits = code.bits(value, Element::U32);
            let wide = code.convert(bits, Element::U64);
            code.bits(wide, Element::S64)
        } else {
            code.convert(value, Element::S64)
        }
    };
    let (a, b) = (wide(code, a), wide(code, b));
    let product = code.map("stablehlo.multiply", &[a, b]);
    let dims = code.dims(product);
    let by = code.integer(Element::S64, &dims, 32);
    let high = code.map("stablehlo.shift_right_logical", &[product, by]);
    Ok(vec![code.convert(product, element), code.convert(high, element)])
}
