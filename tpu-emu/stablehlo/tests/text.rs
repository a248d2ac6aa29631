//! Programs in, programs out: the text reader and printer on small programs of every form.
use tpu_stablehlo::ir::{Attribute, Element, Type};
use tpu_stablehlo::{Module, Place, text};

const GOLDENS: &[(&str, &str)] = &[
    ("collectives", include_str!("golden/collectives.mlir")),
    ("constants", include_str!("golden/constants.mlir")),
    ("contractions", include_str!("golden/contractions.mlir")),
    ("control", include_str!("golden/control.mlir")),
    ("custom_calls", include_str!("golden/custom_calls.mlir")),
    ("elementwise", include_str!("golden/elementwise.mlir")),
    ("indexing", include_str!("golden/indexing.mlir")),
    ("locations", include_str!("golden/locations.mlir")),
    ("reductions", include_str!("golden/reductions.mlir")),
    ("shapes", include_str!("golden/shapes.mlir")),
    ("sharding", include_str!("golden/sharding.mlir")),
    ("types", include_str!("golden/types.mlir")),
];

fn read(name: &str, source: &str) -> Module {
    match text::parse(source) {
        Ok(module) => module,
        Err(error) => panic!("{name}: {error}"),
    }
}

#[test]
fn what_is_printed_reads_back_the_same() {
    for (name, source) in GOLDENS {
        let module = read(name, source);
        let printed = module.to_mlir(true);
        assert_eq!(read(name, &printed), module, "{name}:\n{printed}");
        assert_eq!(read(name, &printed).to_mlir(true), printed, "{name}");
        let plain = module.to_string();
        assert!(!plain.contains("loc("), "{name}:\n{plain}");
        assert_eq!(read(name, &plain).to_string(), plain, "{name}");
    }
}

#[test]
fn every_cut_of_a_program_is_an_error_and_no_panic() {
    for (name, source) in GOLDENS {
        let whole = source.trim_end();
        // What follows the last brace is aliases and blanks: a cut there may be whole.
        let end = whole.find("\n}").unwrap_or(whole.len());
        for cut in (0..whole.len()).filter(|&cut| whole.is_char_boundary(cut)) {
            let result = text::parse(&whole[..cut]);
            assert!(cut > end || result.is_err(), "{name} cut at {cut}");
        }
    }
}

#[test]
fn damaged_programs_do_not_panic() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(below).unwrap()).unwrap()
    };
    let mut read = 0;
    for (_, source) in GOLDENS {
        for _ in 0..400 {
            let mut bytes = source.as_bytes().to_vec();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                match random(3) {
                    0 => bytes[at] = b"%#!@\"<>()[]{}:,=-x0a9.\\?"[random(24)],
                    1 => drop(bytes.remove(at)),
                    _ => {
                        let from = random(bytes.len());
                        let piece = bytes[from..(from + 12).min(bytes.len())].to_vec();
                        bytes.splice(at..at, piece);
                    }
                }
            }
            if let Ok(module) = text::parse(&String::from_utf8_lossy(&bytes)) {
                read += 1;
                // What is accepted can be written.
                assert!(module.to_mlir(true).starts_with(['m', '#']));
            }
        }
    }
    assert!(read > 0);
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [("tuple<", ">"), ("(", ") -> i1")] {
        let of = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        let source = format!("func.func private @f({of})");
        assert!(text::parse(&source).unwrap_err().what.contains("nested"), "{open}");
    }
    for open in ["[", "{a = ", "fused[", "loc("] {
        let source = format!("module attributes {{a = {}", open.repeat(100_000));
        assert!(text::parse(&source).is_err());
    }
    let regions = "\"a.b\"() ({\n".repeat(100_000);
    let source = format!("func.func @f() {{ {regions}");
    assert!(text::parse(&source).unwrap_err().what.contains("nested"));
    let chain: String =
        (0..100_000).map(|id| format!("#a{id} = loc(\"x\"(#a{}))\n", id + 1)).collect();
    assert!(text::parse(&chain).unwrap_err().what.contains("nested"));
    assert!(text::parse("#a = loc(\"x\"(#a))\nmodule {}").unwrap_err().what.contains("nested"));
}

/// One function with this body, and what is wrong with it.
fn refused(body: &str) -> String {
    let source =
        format!("func.func @f(%a: tensor<2xf32>, %i: tensor<2xi32>) {{\n{body}\nreturn\n}}");
    match text::parse(&source) {
        Ok(module) => panic!("{body}\n{module}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_say_where_and_what() {
    for (body, expected) in [
        ("%0 = stablehlo.abs %b : tensor<2xf32>", "line 2:20: %b is not defined here"),
        ("%a = stablehlo.abs %a : tensor<2xf32>", "line 2:1: %a is defined already"),
        ("%0 = stablehlo.abs %i : tensor<2xf32>", "line 2:20: %i is used as"),
        ("%0 = stablehlo.abs %a#1 : tensor<2xf32>", "line 2:20: %a#1 is used, but %a has 1 values"),
        (
            "%0:2 = stablehlo.abs %a : tensor<2xf32>",
            "line 2:8: 2 names for the 1 results of stablehlo.abs",
        ),
        ("%0 = stablehlo.abs %a tensor<2xf32>", "line 2:23: expected ':', found 'tensor'"),
        ("%0 = foo.abs %a : tensor<2xf32>", "line 2:6: no pretty form of 'foo.abs' is known"),
        (
            "%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi8>",
            "line 2:31: 2 items for an extent of 3",
        ),
        ("%0 = stablehlo.constant dense<256> : tensor<3xi8>", "line 2:31: '256' is no value of S8"),
        (
            "%0 = stablehlo.constant dense<\"0x0102\"> : tensor<3xi8>",
            "line 2:31: 2 bytes for 3 elements of 1 bytes",
        ),
        (
            "%0 = stablehlo.constant dense_resource<r> : tensor<3xi8>",
            "line 2:25: the attribute 'dense_resource' is not supported",
        ),
        ("%0 = stablehlo.iota dims = [1] : tensor<2xf32>", "line 2:21: 'dims' is no word of iota"),
        (
            "%0 = stablehlo.abs %a {x = 1, x = 2} : tensor<2xf32>",
            "line 2:31: the attribute x is given twice",
        ),
        (
            "%0 = stablehlo.abs %a : tensor<99999999999999999999xf32>",
            "line 2:32: this extent does not fit in 64 bits",
        ),
        ("%0 = stablehlo.abs %a {x = \"", "line 2:28: this string does not end"),
        (
            "%0 = stablehlo.abs %a {x = #nowhere} : tensor<2xf32>",
            "line 2:28: the alias #nowhere is not defined",
        ),
        (
            "%0 = stablehlo.reduce_precision %a, format = e5 : tensor<2xf32>",
            "line 2:49: 'e5' is no format such as e8m23",
        ),
        ("cf.br ^bb1", "line 2:1: no pretty form of 'cf.br' is known"),
        ("\"cf.br\"()[^bb1] : () -> ()", "line 2:10: operations with successors are not supported"),
    ] {
        let found = refused(body);
        assert!(found.starts_with(expected), "{body}\n{found}\n{expected}");
    }
    let twice = "func.func @f() { return }\nfunc.func @f() { return }";
    assert_eq!(text::parse(twice).unwrap_err().to_string(), "line 2:1: @f is defined twice");
    let error = text::parse("").unwrap_err();
    assert_eq!(
        (error.place, &*error.what),
        (Place::Line(1, 1), "expected a module, found the end of the text")
    );
}

#[test]
fn names_end_with_their_region() {
    let found = refused(
        "\"x.y\"() ({\n%0 = stablehlo.abs %a : tensor<2xf32>\n}) : () -> ()\n%1 = stablehlo.abs %0 : tensor<2xf32>",
    );
    assert_eq!(found, "line 5:20: %0 is not defined here");
}

#[test]
fn structs_are_flat_and_left_out_attributes_are_there() {
    let module = read("indexing", include_str!("golden/indexing.mlir"));
    let block = module.function("main").and_then(|function| function.block()).unwrap();
    let gather = &block.operations[0].attributes;
    assert_eq!(gather.integers("offset_dims"), Some(vec![1]));
    assert_eq!(gather.integers("operand_batching_dims"), Some(vec![]));
    assert_eq!(gather.integer("index_vector_dim"), Some(1));
    assert!(gather.flag("indices_are_sorted"));
    let scatter = &block.operations[2].attributes;
    assert_eq!(scatter.get("indices_are_sorted"), Some(&Attribute::Bool(false)));
    let module = read("contractions", include_str!("golden/contractions.mlir"));
    let block = module.function("main").and_then(|function| function.block()).unwrap();
    let dot = &block.operations[1].attributes;
    assert_eq!(dot.get("accumulation_type"), Some(&Attribute::Type(Type::Scalar(Element::F32))));
    assert_eq!(dot.get("algorithm"), None);
    let block = module.function("convolve").and_then(|function| function.block()).unwrap();
    let convolution = &block.operations[0].attributes;
    assert_eq!(convolution.integer("kernel_output_feature_dimension"), Some(3));
    assert_eq!(convolution.integers("lhs_dilation"), Some(vec![1, 1]));
    assert_eq!(convolution.get("window_reversal"), Some(&Attribute::Booleans(vec![false, true])));
}

#[test]
fn decimals_round_to_the_nearest_with_ties_to_even() {
    let module = read("constants", include_str!("golden/constants.mlir"));
    let block = module.function("main").and_then(|function| function.block()).unwrap();
    let data = |index: usize| match block.operations[index].attributes.get("value") {
        Some(Attribute::Elements(elements)) => elements.data.to_vec(),
        other => panic!("{other:?}"),
    };
    assert_eq!(data(2), [0x49, 0x40, 0xC0, 0x7F, 0x01, 0x00]);
    assert_eq!(data(4), [0x2A, 0x7E, 0x7F]);
    assert_eq!(data(8), [0xF8, 7, 0, 0xFF]);
    assert_eq!(data(12), [1]);
}

#[test]
fn locations_are_a_stack_of_lines() {
    let module = read("locations", include_str!("golden/locations.mlir"));
    let block = module.function("main").and_then(|function| function.block()).unwrap();
    let lines = module.locations.stack(block.operations[1].location);
    let lines: Vec<_> =
        lines.iter().map(|line| (&*line.file, line.line, line.function.as_deref())).collect();
    assert_eq!(lines, [("model.py", 10, Some("layer")), ("main.py", 3, Some("main"))]);
    let reduce = &block.operations[3];
    assert_eq!(module.locations.line(reduce.location).as_deref(), Some("f:1:2"));
    assert_eq!(reduce.regions[0].blocks[0].operations[0].location, reduce.location);
}

#[test]
fn tolerances_without_an_end_and_without_a_value_read_back_the_same() {
    let program = |tolerance: &str| {
        format!(
            "func.func @main(%x: tensor<f32>) -> tensor<f32> {{
               %y = stablehlo.tanh %x {{result_accuracy = #stablehlo.result_accuracy<atol = {tolerance}, \
             rtol = 0.5, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}} : tensor<f32>
               return %y : tensor<f32>
             }}"
        )
    };
    for tolerance in ["1.0e+999", "0x7FF0000000000000", "0x7FF8000000000000", "-0.0", "1"] {
        let text = read(tolerance, &program(tolerance)).to_mlir(false);
        assert_eq!(read(tolerance, &text).to_mlir(false), text);
    }
}
