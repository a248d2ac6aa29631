//! Whose values meet in a collective, however its groups are written.
use super::machine::machine;
use tpu_emu::Result;
use tpu_emu::executable::{CompileOptions, Format};

/// Compiles a sum over groups for 8 devices, written per device.
fn compile(mesh: &str, attributes: &str) -> Result<()> {
    let text = format!(
        "module @m {{
  sdy.mesh @line = <[\"i\"=8]>
  {mesh}
  func.func @main(%x: tensor<32xf32>) -> tensor<32xf32> {{
    %0 = sdy.manual_computation(%x) in_shardings=[<@line, [{{\"i\"}}]>] out_shardings=[<@line, [{{\"i\"}}]>] manual_axes={{\"i\"}} (%a: tensor<4xf32>) {{
      %1 = \"stablehlo.all_reduce\"(%a) <{{{attributes}}}> ({{
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %s = stablehlo.add %l, %r : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }}) : (tensor<4xf32>) -> tensor<4xf32> loc(\"train.py\":41:7)
      sdy.return %1 : tensor<4xf32>
    }} : (tensor<32xf32>) -> tensor<32xf32>
    return %0 : tensor<32xf32>
  }}
}}"
    );
    let options = CompileOptions { partitions: 8, ..CompileOptions::default() };
    machine().compile(Format::Mlir, text.as_bytes(), options).map(drop)
}

const CHANNEL: &str = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
const MESH: &str = "sdy.mesh @m = <[\"a\"=2, \"b\"=4]>";

fn along(axes: &str) -> String {
    format!(
        "{CHANNEL}, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [{axes}]>, use_global_device_ids"
    )
}

#[test]
fn axes_of_a_mesh_and_parts_of_them_are_groups() {
    for axes in [
        "",
        "<name = \"a\">",
        "<name = \"b\">, <name = \"a\">",
        "<name = \"b\", sub_axis_info = (2)2>",
    ] {
        assert_eq!(compile(MESH, &along(axes)), Ok(()), "{axes}");
    }
}

#[test]
fn bad_groups_are_errors_with_the_operation_its_line_and_the_reason() {
    let dense = |rows: &str, of: &str, more: &str| {
        format!("{CHANNEL}, replica_groups = dense<{rows}> : tensor<{of}xi64>{more}")
    };
    let twice = "sdy.mesh @m = <[\"a\"=2, \"b\"=4]> {stablehlo.mesh = {axes = [{name = \"a\", size = 8 : i64}]}}";
    for (mesh, attributes, reason) in [
        (MESH, along("<name = \"z\">"), "axis \"z\" of the mesh"),
        (MESH, along("<name = \"a\">, <name = \"a\">"), "the axes \"a\" and \"a\" overlap"),
        (MESH, along("<name = \"b\", sub_axis_info = (1)3>"), "axis \"b\":(1)3"),
        (MESH, along("<name = \"b\", sub_axis_info = (1)4>"), "no proper part"),
        (MESH, along("<name = \"b\", sub_axis_info = (-1)2>"), "axis \"b\":(-1)2"),
        ("", along("<name = \"a\">"), "the mesh @m is not there"),
        ("sdy.mesh @m = <[\"a\"=2]>", along("<name = \"a\">"), "for 8 devices"),
        (
            "sdy.mesh @m = <[\"a\"=8], device_ids=[0, 0, 1, 2, 3, 4, 5, 6]>",
            along("<name = \"a\">"),
            "for 8 devices",
        ),
        (twice, along("<name = \"a\">"), "in its attribute stablehlo.mesh"),
        (MESH, dense("[[0, 8]]", "1x2", ", use_global_device_ids"), "name device 8 of 8"),
        (MESH, dense("[[0, 1]]", "1x2", ", use_global_device_ids"), "device 2 in no group"),
        (
            MESH,
            dense("[[0, 1, 2, 3], [4, 5, 3, 7]]", "2x4", ", use_global_device_ids"),
            "device 3 twice in its groups",
        ),
        (
            MESH,
            dense("[[0, 0, 1, 2, 3, 4, 5, 6]]", "1x8", ", use_global_device_ids"),
            "device 0 twice in its groups",
        ),
        (MESH, dense("[[0, 1, 2], [3, 4, 2]]", "2x3", ", use_global_device_ids"), "device 2 twice"),
        (MESH, dense("[[5, 1, 5]]", "1x3", ", use_global_device_ids"), "device 5 twice"),
        (MESH, dense("[[0, 1], [2, 3]]", "2x2", ""), "name replica 1 of 1"),
        (MESH, dense("[0, 1]", "2", ", use_global_device_ids"), "no dense array"),
        (MESH, along("<name = \"a\">").replace(CHANNEL, "some = 1 : i64"), "use_global_device_ids"),
    ] {
        let error = compile(mesh, &attributes).unwrap_err().to_string();
        assert!(error.contains("train.py:41"), "{error}");
        assert!(error.contains("stablehlo.all_reduce"), "{error}");
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

#[test]
fn a_program_on_one_device_has_groups_of_that_device_alone() {
    let compile = |attributes: &str| {
        let text = format!(
            "module {{
  sdy.mesh @m = <[\"a\"=1]>
  sdy.mesh @n = <[\"a\"=2]>
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
    %0 = \"stablehlo.all_gather\"(%x) <{{all_gather_dim = 0 : i64, {attributes}}}> : (tensor<4xf32>) -> tensor<4xf32> loc(\"train.py\":7:1)
    return %0 : tensor<4xf32>
  }}
}}"
        );
        machine().compile(Format::Mlir, text.as_bytes(), CompileOptions::default()).map(drop)
    };
    let along = |mesh: &str| {
        format!(
            "replica_groups = #stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = [<name = \"a\">]>"
        )
    };
    let inline = "#stablehlo.mesh<axes = [<name = \"a\", size = 1>]>";
    for good in [
        "replica_groups = dense<0> : tensor<1x1xi64>".to_owned(),
        "replica_groups = dense<> : tensor<0x0xi64>".to_owned(),
        along("@m"),
        along(inline),
    ] {
        assert_eq!(compile(&good), Ok(()), "{good}");
    }
    for (bad, reason) in [
        ("replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>".to_owned(), "take several devices"),
        ("replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>".to_owned(), "take several devices"),
        ("replica_groups = dense<1> : tensor<1x1xi64>".to_owned(), "take several devices"),
        (along("@n"), "(\"a\", 2)"),
        (along("@z"), "the mesh @z is not there"),
    ] {
        let error = compile(&bad).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("train.py:7"), "{error}");
    }
}
