//! Groups of devices that axes of a mesh make: `#stablehlo.replica_group_mesh_axes<…>`.
use super::Parser;
use super::cursor::{Cursor, Result};
use crate::ir::{AxisRef, Mesh, MeshAxes, MeshRef};
use std::sync::Arc;

impl Parser<'_> {
    /// `<mesh = @mesh, axes = […]>`.
    pub(super) fn replica_group_mesh_axes(&mut self) -> Result<MeshAxes> {
        self.cursor.expect("<")?;
        self.cursor.expect_word("mesh")?;
        self.cursor.expect("=")?;
        let mesh = if self.cursor.eat("#stablehlo.mesh") {
            MeshRef::Inline(self.stablehlo_mesh()?)
        } else {
            MeshRef::Symbol(self.cursor.symbol()?.into())
        };
        self.cursor.expect(",")?;
        self.cursor.expect_word("axes")?;
        self.cursor.expect("=")?;
        let axes = self.cursor.list("[", "]", axis)?;
        self.cursor.expect(">")?;
        Ok(MeshAxes { mesh, axes })
    }

    /// `<axes = [#stablehlo.mesh_axis<name = "x", size = 2>], device_ids = dense<…>>`.
    pub(super) fn stablehlo_mesh(&mut self) -> Result<Mesh> {
        self.cursor.expect("<")?;
        self.cursor.expect_word("axes")?;
        self.cursor.expect("=")?;
        let axes = self.cursor.list("[", "]", |cursor| {
            cursor.eat("#stablehlo.mesh_axis");
            cursor.expect("<")?;
            cursor.expect_word("name")?;
            cursor.expect("=")?;
            let name: Arc<str> = cursor.text()?.into();
            cursor.expect(",")?;
            cursor.expect_word("size")?;
            cursor.expect("=")?;
            let size = cursor.integer()?;
            cursor.expect(">")?;
            Ok((name, size))
        })?;
        let mut device_ids = Vec::new();
        if self.cursor.eat(",") {
            self.cursor.expect_word("device_ids")?;
            self.cursor.expect("=")?;
            match self.attribute()?.integers() {
                Some(ids) => device_ids = ids,
                None => return self.cursor.error("the devices of a mesh are integers"),
            }
        }
        self.cursor.expect(">")?;
        Ok(Mesh { axes, device_ids })
    }
}

/// `#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>`.
fn axis(cursor: &mut Cursor<'_>) -> Result<AxisRef> {
    cursor.eat("#stablehlo.axis_ref");
    cursor.expect("<")?;
    cursor.expect_word("name")?;
    cursor.expect("=")?;
    let name = cursor.text()?.into();
    let mut part = None;
    if cursor.eat(",") {
        cursor.expect_word("sub_axis_info")?;
        cursor.expect("=")?;
        cursor.eat("#stablehlo.sub_axis_info");
        cursor.expect("(")?;
        let before = cursor.integer()?;
        cursor.expect(")")?;
        part = Some((before, cursor.integer()?));
    }
    cursor.expect(">")?;
    Ok(AxisRef { name, part })
}
