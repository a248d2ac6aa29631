//! What makes a function a kernel: its attributes, typed.
use crate::ir::{
    Attribute, Attributes, CoreType, DimensionSemantics, Element, Kernel, Transform, Window,
};

/// Takes the attributes of a kernel out of those of a function.
pub(super) fn take(attributes: &mut Attributes) -> Result<Option<Kernel>, String> {
    let core = attributes.take("tpu.core_type");
    let grid = attributes.take("iteration_bounds");
    let semantics = attributes.take("dimension_semantics");
    let scalar_prefetch = attributes.take("scalar_prefetch");
    let scratch_operands = attributes.take("scratch_operands");
    let windows = attributes.take("window_params");
    let all = [&core, &grid, &semantics, &scalar_prefetch, &scratch_operands, &windows];
    if all.iter().all(|attribute| attribute.is_none()) {
        return Ok(None);
    }
    Ok(Some(Kernel {
        core: match core {
            None => CoreType::TensorCore,
            Some(Attribute::CoreType(core)) => core,
            Some(_) => return Err("tpu.core_type is no type of core".to_owned()),
        },
        grid: match grid {
            None => None,
            Some(Attribute::Integers(bounds, Element::S64)) => Some(bounds),
            Some(_) => return Err("iteration_bounds are no integers".to_owned()),
        },
        semantics: semantics.map(self::semantics).transpose()?,
        scalar_prefetch: count("scalar_prefetch", scalar_prefetch)?,
        scratch_operands: count("scratch_operands", scratch_operands)?,
        windows: match windows {
            None => None,
            Some(Attribute::Array(items)) => {
                Some(items.into_iter().map(window).collect::<Result<_, _>>()?)
            }
            Some(_) => return Err("window_params is no list".to_owned()),
        },
    }))
}

fn count(name: &str, value: Option<Attribute>) -> Result<usize, String> {
    let Some(value) = value else { return Ok(0) };
    let count = value.integer().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| format!("{name} is no count"))
}

fn semantics(value: Attribute) -> Result<Vec<DimensionSemantics>, String> {
    let one = |item| match item {
        Attribute::DimensionSemantics(semantics) => Ok(semantics),
        Attribute::Unknown(text) => Err(format!("dimension_semantics has {text}")),
        _ => Err("dimension_semantics has something else".to_owned()),
    };
    match value {
        Attribute::Array(items) => items.into_iter().map(one).collect(),
        _ => Err("dimension_semantics is no list".to_owned()),
    }
}

fn window(item: Attribute) -> Result<Window, String> {
    let Attribute::Dictionary(named) = item else {
        return Err("window_params has something else".to_owned());
    };
    let mut window = Window::default();
    for (key, value) in named.0 {
        match (&*key, value) {
            ("transform_indices", Attribute::Symbol(name)) => {
                window.transform = Some(Transform::Function(name));
            }
            ("transform_indices", Attribute::AffineMap(map)) => {
                window.transform = Some(Transform::Map(map));
            }
            ("window_bounds", Attribute::Integers(bounds, Element::S64)) => {
                window.bounds = Some(bounds);
            }
            ("window_kind", Attribute::ElementWindow(low, high)) => {
                window.element_window = Some((low, high));
            }
            ("pipeline_mode", Attribute::PipelineMode(mode)) => window.pipeline_mode = Some(mode),
            ("revisit_mode", Attribute::RevisitMode(mode)) => window.revisit_mode = Some(mode),
            (key, Attribute::Unknown(text)) => return Err(format!("a window's {key} is {text}")),
            (key, _) => return Err(format!("a window's {key}, which is not known")),
        }
    }
    Ok(window)
}

impl Kernel {
    /// Holds the numbers against one another and against the number of arguments.
    pub(super) fn check(&self, arguments: usize) -> Result<(), String> {
        let rank = self.grid.as_ref().map_or(0, Vec::len);
        let others = rank
            .checked_add(self.scalar_prefetch)
            .and_then(|count| count.checked_add(self.scratch_operands));
        let windows = others.and_then(|others| arguments.checked_sub(others)).ok_or_else(|| {
            format!(
                "{arguments} arguments, but {rank} indices, {} scalar operands and {} scratch",
                self.scalar_prefetch, self.scratch_operands
            )
        })?;
        if let Some(semantics) = &self.semantics
            && semantics.len() != rank
        {
            return Err(format!("semantics of {} dimensions of {rank}", semantics.len()));
        }
        if let Some(given) = &self.windows
            && given.len() != windows
        {
            return Err(format!("{} windows for {windows} arguments", given.len()));
        }
        for window in self.windows.iter().flatten() {
            if let (Some((low, high)), Some(bounds)) = (&window.element_window, &window.bounds)
                && (low.len(), high.len()) != (bounds.len(), bounds.len())
            {
                return Err(format!("padding {low:?}, {high:?} of a block {bounds:?}"));
            }
            if let Some(Transform::Map(map)) = &window.transform
                && map.dims != rank
            {
                return Err(format!("an index map over {} dimensions of {rank}", map.dims));
            }
        }
        Ok(())
    }
}
