//! Groups of devices that axes of a mesh make: `#stablehlo.replica_group_mesh_axes<…>`.
use super::Parser;
use super::cursor::Result;
use crate::ir::{Attribute, Attributes, Element, Mesh};
use std::sync::Arc;

impl Parser<'_> {
    /// `<mesh = @mesh, axes = […]>` as a dictionary of `mesh` and `axes`, each axis one of `name`
    /// and, for a part of an axis, `pre_size` and `size`.
    pub(super) fn replica_group_mesh_axes(&mut self) -> Result<Attribute> {
        self.cursor.expect("<")?;
        self.cursor.expect_word("mesh")?;
        self.cursor.expect("=")?;
        let mesh = if self.cursor.eat("#stablehlo.mesh") {
            Attribute::Mesh(self.stablehlo_mesh()?)
        } else {
            Attribute::Symbol(self.cursor.symbol()?.into())
        };
        self.cursor.expect(",")?;
        self.cursor.expect_word("axes")?;
        self.cursor.expect("=")?;
        let axes = self.cursor.list("[", "]", |cursor| {
            cursor.eat("#stablehlo.axis_ref");
            cursor.expect("<")?;
            cursor.expect_word("name")?;
            cursor.expect("=")?;
            let mut axis = Attributes::default();
            axis.set("name", Attribute::String(cursor.string()?.into()));
            if cursor.eat(",") {
                cursor.expect_word("sub_axis_info")?;
                cursor.expect("=")?;
                cursor.eat("#stablehlo.sub_axis_info");
                cursor.expect("(")?;
                axis.set("pre_size", Attribute::Integer(cursor.integer()?.into(), Element::S64));
                cursor.expect(")")?;
                axis.set("size", Attribute::Integer(cursor.integer()?.into(), Element::S64));
            }
            cursor.expect(">")?;
            Ok(Attribute::Dictionary(axis))
        })?;
        self.cursor.expect(">")?;
        let mut groups = Attributes::default();
        groups.set("mesh", mesh);
        groups.set("axes", Attribute::Array(axes));
        Ok(Attribute::Dictionary(groups))
    }

    /// `<axes = [#stablehlo.mesh_axis<name = "x", size = 2>], device_ids = dense<…>>`.
    fn stablehlo_mesh(&mut self) -> Result<Mesh> {
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
