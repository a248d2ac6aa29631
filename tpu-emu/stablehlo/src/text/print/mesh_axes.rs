//! Groups of devices that axes of a mesh make.
use super::Printer;
use crate::ir::{Attribute, Attributes, Mesh};

impl Printer<'_> {
    /// `#stablehlo.replica_group_mesh_axes<…>`; nothing, if the dictionary is not one.
    pub(super) fn replica_group_mesh_axes(&mut self, groups: &Attributes) -> bool {
        let (Some(mesh), Some(Attribute::Array(axes))) = (groups.get("mesh"), groups.get("axes"))
        else {
            return false;
        };
        let known = matches!(mesh, Attribute::Symbol(_) | Attribute::Mesh(_));
        let dictionary = |axis: &Attribute| matches!(axis, Attribute::Dictionary(_));
        if !known || !axes.iter().all(dictionary) {
            return false;
        }
        self.push("#stablehlo.replica_group_mesh_axes<mesh = ");
        match mesh {
            Attribute::Mesh(mesh) => self.stablehlo_mesh(mesh),
            other => self.attribute("stablehlo", "mesh", other),
        }
        self.push(", axes = [");
        self.commas(axes, |printer, axis| {
            let Attribute::Dictionary(axis) = axis else { return };
            printer.push("#stablehlo.axis_ref<name = ");
            printer.string(axis.text("name").unwrap_or("").as_bytes());
            if let (Some(pre), Some(size)) = (axis.integer("pre_size"), axis.integer("size")) {
                printer.push(&format!(", sub_axis_info = ({pre}){size}"));
            }
            printer.push(">");
        });
        self.push("]>");
        true
    }

    fn stablehlo_mesh(&mut self, mesh: &Mesh) {
        self.push("#stablehlo.mesh<axes = [");
        self.commas(&mesh.axes, |printer, (name, size)| {
            printer.push("#stablehlo.mesh_axis<name = ");
            printer.string(name.as_bytes());
            printer.push(&format!(", size = {size}>"));
        });
        self.push("]");
        if !mesh.device_ids.is_empty() {
            let ids = &mesh.device_ids;
            self.push(&format!(", device_ids = dense<{ids:?}> : tensor<{}xi64>", ids.len()));
        }
        self.push(">");
    }
}
