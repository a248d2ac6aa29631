//! Groups of devices along the axes of a mesh: from bytecode and from text, and back.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
use std::path::Path;
use tpu_stablehlo::bytecode::read;
use tpu_stablehlo::ir::{Attribute, AxisRef, Mesh, MeshAxes, MeshRef, Module};
use tpu_stablehlo::text::parse;

/// What jaxlib 0.12.0.1 wrote: a portable artifact, or MLIR's own bytecode.
fn golden(name: &str) -> Module {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    read(&std::fs::read(folder.join(name).with_extension("mlirbc")).unwrap()).unwrap()
}

fn axis(name: &str, part: Option<(i64, i64)>) -> AxisRef {
    AxisRef { name: name.into(), part }
}

fn inline(axes: &[(&str, i64)], device_ids: &[i64]) -> MeshRef {
    let axes = axes.iter().map(|&(name, size)| (name.into(), size)).collect();
    MeshRef::Inline(Mesh { axes, device_ids: device_ids.to_vec() })
}

fn groups(mesh: MeshRef, axes: Vec<AxisRef>) -> Attribute {
    Attribute::MeshAxes(MeshAxes { mesh, axes })
}

#[test]
fn a_portable_artifact_has_the_groups_of_every_collective() {
    let module = golden("mesh_axes");
    let mesh = &module.meshes[0];
    assert_eq!(&*mesh.name, "m");
    assert_eq!(mesh.mesh.device_ids, [7, 6, 5, 4, 3, 2, 1, 0]);
    assert!(matches!(mesh.attributes.get("stablehlo.mesh"), Some(Attribute::Dictionary(_))));
    let operations = &module.entry().unwrap().block().unwrap().operations;
    let found: Vec<_> =
        operations.iter().filter_map(|one| one.attributes.get("replica_groups").cloned()).collect();
    let part = axis("b", Some((2, 2)));
    let whole = inline(&[("c", 8)], &[1, 0, 2, 3, 4, 5, 6, 7]);
    assert_eq!(
        found,
        [
            groups(MeshRef::Symbol("m".into()), vec![part]),
            groups(whole, vec![axis("c", None)]),
            groups(inline(&[("c", 1)], &[]), Vec::new()),
        ]
    );
}

#[test]
fn bytecode_of_the_dialect_itself_has_them_too() {
    let module = golden("mesh_axes_raw");
    let attributes = &module.entry().unwrap().attributes;
    let parts = vec![axis("a", Some((2, 4))), axis("a", Some((1, 2)))];
    assert_eq!(attributes.get("groups"), Some(&groups(MeshRef::Symbol("m".into()), parts)));
    let other = groups(inline(&[("c", 2)], &[1, 0]), vec![axis("c", None)]);
    assert_eq!(attributes.get("other"), Some(&other));
}

#[test]
fn what_is_printed_is_read_back() {
    for name in ["mesh_axes", "mesh_axes_raw"] {
        let module = golden(name);
        let printed = module.to_mlir(false);
        let mut again = parse(&printed).unwrap();
        again.locations = module.locations.clone();
        assert_eq!(again.to_mlir(false), printed);
        assert_eq!(again.meshes, module.meshes, "{printed}");
    }
}

#[test]
fn groups_that_are_given_twice_are_an_error() {
    let text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}";
    let error = parse(text).unwrap_err().to_string();
    assert!(error.contains("the attribute replica_groups is given twice"), "{error}");
}

#[test]
fn damaged_groups_are_errors() {
    let whole =
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mesh_axes.mlirbc"));
    let whole = whole.unwrap();
    for at in 0..whole.len() {
        assert!(read(&whole[..at]).is_err());
        for byte in [0, 1, 0x7f, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            drop(read(&damaged));
        }
    }
    for groups in [
        "<mesh = 3, axes = []>",
        "<mesh = @m>",
        "<mesh = @m, axes = [\"a\"]>",
        "<mesh = @m, axes = [<name = \"a\", sub_axis_info = 2>]>",
        "<mesh = #stablehlo.mesh<axes = [<name = \"a\">]>, axes = []>",
        "<mesh = #stablehlo.mesh<axes = [], device_ids = \"x\">, axes = []>",
    ] {
        let text =
            format!("module attributes {{g = #stablehlo.replica_group_mesh_axes{groups}}} {{}}");
        assert!(parse(&text).is_err(), "{groups}");
    }
}
