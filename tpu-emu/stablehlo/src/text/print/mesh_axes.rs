//! Groups of devices that axes of a mesh make.
use super::Printer;
use crate::ir::{Mesh, MeshAxes, MeshRef};

impl Printer<'_> {
    /// `#stablehlo.replica_group_mesh_axes<…>`.
    pub(super) fn replica_group_mesh_axes(&mut self, groups: &MeshAxes) {
        self.push("#stablehlo.replica_group_mesh_axes<mesh = ");
        match &groups.mesh {
            MeshRef::Symbol(name) => self.symbol(name),
            MeshRef::Inline(mesh) => self.stablehlo_mesh(mesh),
        }
        self.push(", axes = [");
        self.commas(&groups.axes, |printer, axis| {
            printer.push("#stablehlo.axis_ref<name = ");
            printer.string(axis.name.as_bytes());
            if let Some((before, size)) = axis.part {
                printer.push(&format!(", sub_axis_info = ({before}){size}"));
            }
            printer.push(">");
        });
        self.push("]>");
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
