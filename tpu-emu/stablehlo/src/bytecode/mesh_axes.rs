//! Groups of devices that axes of a mesh make, as StableHLO and VHLO encode them.
use super::table::brief;
use super::{BytecodeReader, Cursor, Node};
use crate::ReadError;
use crate::ir::{Attribute, AxisRef, Mesh, MeshAxes, MeshRef};

impl BytecodeReader<'_> {
    /// An array of attributes; one of axes is a node of its own.
    pub(crate) fn array(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let at = cursor.at();
        let (mut items, mut axes, mut mesh_axes) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..cursor.count()? {
            let at = cursor.at();
            match self.node(cursor)? {
                Node::Axis(axis) => axes.push(axis),
                Node::MeshAxis(name, size) => mesh_axes.push((name, size)),
                other => items.push(self.stated(at, other)?),
            }
        }
        match (items.is_empty(), axes.is_empty(), mesh_axes.is_empty()) {
            (_, true, true) => Ok(Node::Attribute(Attribute::Array(items))),
            (true, false, true) => Ok(Node::Axes(axes)),
            (true, true, false) => Ok(Node::MeshAxes(mesh_axes)),
            _ => Err(ReadError::at(at, "an array of axes and of other attributes")),
        }
    }

    /// VHLO's groups: a mesh and an array of axes.
    pub(crate) fn vhlo_mesh_axes(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let mesh = self.mesh_reference(cursor)?;
        let at = cursor.at();
        let axes = match self.node(cursor)? {
            Node::Axes(axes) => axes,
            Node::Attribute(Attribute::Array(none)) if none.is_empty() => Vec::new(),
            other => return Err(wrong(at, &other, "axes of a group")),
        };
        Ok(Node::Attribute(Attribute::MeshAxes(MeshAxes { mesh, axes })))
    }

    /// StableHLO's groups: a mesh, and axes one by one.
    pub(crate) fn mesh_axes(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let mesh = self.mesh_reference(cursor)?;
        let mut axes = Vec::new();
        for _ in 0..cursor.count()? {
            let at = cursor.at();
            match self.node(cursor)? {
                Node::Axis(axis) => axes.push(axis),
                other => return Err(wrong(at, &other, "an axis of a group")),
            }
        }
        Ok(Node::Attribute(Attribute::MeshAxes(MeshAxes { mesh, axes })))
    }

    /// VHLO's axis: a name and a flag, then the part of the axis if it is set.
    pub(crate) fn vhlo_axis(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let name = self.text_attribute(cursor)?;
        let has_part = cursor.varint()? != 0;
        let part = if has_part { Some(self.part_of_axis(cursor)?) } else { None };
        Ok(Node::Axis(AxisRef { name, part }))
    }

    /// StableHLO's axis.
    pub(crate) fn stablehlo_axis(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let name = self.file.strings.shared(cursor)?;
        let has_part = cursor.byte()? != 0;
        let part = if has_part { Some(self.part_of_axis(cursor)?) } else { None };
        Ok(Node::Axis(AxisRef { name, part }))
    }

    /// VHLO's mesh.
    pub(crate) fn vhlo_mesh(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let axes = self.axes_of_mesh(cursor)?;
        let at = cursor.at();
        let ids = self.optional_node(cursor)?;
        self.mesh(at, axes, ids)
    }

    /// StableHLO's mesh.
    pub(crate) fn stablehlo_mesh(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let axes = self.axes_of_mesh(cursor)?;
        let has_ids = cursor.byte()? != 0;
        let at = cursor.at();
        let ids = if has_ids { Some(self.node(cursor)?) } else { None };
        self.mesh(at, axes, ids)
    }

    /// A mesh, or the symbol of one, which VHLO writes as a string.
    fn mesh_reference(&mut self, cursor: &mut Cursor<'_>) -> Result<MeshRef, ReadError> {
        let at = cursor.at();
        match self.node(cursor)? {
            Node::Attribute(Attribute::Mesh(mesh)) => Ok(MeshRef::Inline(mesh)),
            Node::Attribute(Attribute::Symbol(name)) => Ok(MeshRef::Symbol(name)),
            Node::Attribute(Attribute::String(name)) => {
                Ok(MeshRef::Symbol(String::from_utf8_lossy(&name).into()))
            }
            other => Err(wrong(at, &other, "a mesh")),
        }
    }

    fn part_of_axis(&mut self, cursor: &mut Cursor<'_>) -> Result<(i64, i64), ReadError> {
        let at = cursor.at();
        match self.node(cursor)? {
            Node::SubAxis(before, size) => Ok((before, size)),
            other => Err(wrong(at, &other, "a part of an axis")),
        }
    }

    fn axes_of_mesh(
        &mut self,
        cursor: &mut Cursor<'_>,
    ) -> Result<Vec<(std::sync::Arc<str>, i64)>, ReadError> {
        let at = cursor.at();
        match self.node(cursor)? {
            Node::MeshAxes(axes) => Ok(axes),
            Node::Attribute(Attribute::Array(none)) if none.is_empty() => Ok(Vec::new()),
            other => Err(wrong(at, &other, "axes of a mesh")),
        }
    }

    fn mesh(
        &mut self,
        at: usize,
        axes: Vec<(std::sync::Arc<str>, i64)>,
        ids: Option<Node>,
    ) -> Result<Node, ReadError> {
        let ids = ids.map(|ids| self.listed(at, ids)).transpose()?.flatten();
        let device_ids = match ids {
            None => Vec::new(),
            Some(ids) => ids
                .integers()
                .ok_or_else(|| ReadError::at(at, "a mesh whose devices are no integers"))?,
        };
        Ok(Node::Attribute(Attribute::Mesh(Mesh { axes, device_ids })))
    }
}

fn wrong(at: usize, found: &Node, expected: &str) -> ReadError {
    ReadError::at(at, format!("{} where {expected} was expected", brief(found)))
}
