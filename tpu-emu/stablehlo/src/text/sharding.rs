//! Shardy's attributes: meshes and how arrays are split over them.
use super::Parser;
use super::cursor::{Cursor, Result};
use crate::ir::{Attribute, AxisRef, DimensionSharding, Mesh, MeshRef, TensorSharding};
use std::sync::Arc;

impl Parser<'_> {
    /// The rest of `#sdy.kind<…>` or `#sdy<kind…>`, whose text starts at `start`.
    pub(super) fn sdy_attribute(&mut self, kind: &str, start: usize) -> Result<Attribute> {
        match kind {
            "mesh" => mesh(&mut self.cursor).map(Attribute::Mesh),
            "sharding" => sharding(&mut self.cursor).map(Attribute::Sharding),
            "sharding_per_value" => {
                self.cursor.expect("<")?;
                let shardings = self.cursor.list("[", "]", sharding)?;
                self.cursor.expect(">")?;
                Ok(Attribute::Shardings(shardings))
            }
            "" if self.cursor.eat("<") && self.cursor.eat_word("manual_axes") => {
                let axes = manual_axes(&mut self.cursor)?;
                self.cursor.expect(">")?;
                Ok(Attribute::ManualAxes(axes))
            }
            _ => {
                if kind.is_empty() {
                    self.cursor.seek(start + "#sdy".len());
                }
                if self.cursor.here() == Some(b'<') {
                    self.cursor.balanced()?;
                }
                let text = self.cursor.slice(start, self.cursor.position()).trim_start_matches('#');
                Ok(Attribute::Opaque(text.into()))
            }
        }
    }
}

/// `{"x", "y"}`.
pub(super) fn manual_axes(cursor: &mut Cursor<'_>) -> Result<Vec<Arc<str>>> {
    cursor.list("{", "}", |cursor| cursor.text().map(Arc::from))
}

/// `<["x"=2, "y"=4], device_ids=[1, 0]>`.
pub(super) fn mesh(cursor: &mut Cursor<'_>) -> Result<Mesh> {
    cursor.expect("<")?;
    let mut mesh = Mesh::default();
    if cursor.eat_word("maximal_device_id") {
        cursor.expect("=")?;
        mesh.device_ids = vec![cursor.integer()?];
    } else {
        mesh.axes = cursor.list("[", "]", |cursor| {
            let name = cursor.text()?;
            cursor.expect("=")?;
            Ok((name.into(), cursor.integer()?))
        })?;
        if cursor.eat(",") {
            cursor.expect_word("device_ids")?;
            cursor.expect("=")?;
            mesh.device_ids = cursor.integers()?;
        }
    }
    cursor.expect(">")?;
    Ok(mesh)
}

/// `<@mesh, [{"x"}, {?}], replicated={"y"}, unreduced={"z"}>`.
pub(super) fn sharding(cursor: &mut Cursor<'_>) -> Result<TensorSharding> {
    cursor.expect("<")?;
    let mesh = if cursor.eat_word("mesh") {
        MeshRef::Inline(mesh(cursor)?)
    } else {
        MeshRef::Symbol(cursor.symbol()?.into())
    };
    cursor.expect(",")?;
    let dimensions = cursor.list("[", "]", dimension)?;
    let mut sharding =
        TensorSharding { mesh, dimensions, replicated: Vec::new(), unreduced: Vec::new() };
    while cursor.eat(",") {
        if cursor.eat_word("replicated") {
            cursor.expect("=")?;
            sharding.replicated = cursor.list("{", "}", axis)?;
        } else {
            cursor.expect_word("unreduced")?;
            cursor.expect("=")?;
            sharding.unreduced = cursor.list("{", "}", axis)?;
        }
    }
    cursor.expect(">")?;
    Ok(sharding)
}

/// `{"x", "y":(2)4, ?}p1`.
fn dimension(cursor: &mut Cursor<'_>) -> Result<DimensionSharding> {
    let mut open = false;
    let axes = cursor.list("{", "}", |cursor| {
        if open {
            return cursor.error("nothing may follow '?'");
        }
        if cursor.eat("?") {
            open = true;
            return Ok(None);
        }
        axis(cursor).map(Some)
    })?;
    let priority = match cursor.here() {
        Some(b'p') => {
            cursor.expect("p")?;
            Some(cursor.integer()?)
        }
        _ => None,
    };
    Ok(DimensionSharding { axes: axes.into_iter().flatten().collect(), closed: !open, priority })
}

/// `"x"` or `"x":(pre)size`.
fn axis(cursor: &mut Cursor<'_>) -> Result<AxisRef> {
    let name = cursor.text()?.into();
    if !cursor.eat(":") {
        return Ok(AxisRef { name, part: None });
    }
    cursor.expect("(")?;
    let pre = cursor.integer()?;
    cursor.expect(")")?;
    Ok(AxisRef { name, part: Some((pre, cursor.integer()?)) })
}
