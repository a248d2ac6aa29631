//! Texts that say what a block is for, interned.
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// Number of a label; [`LabelId::NONE`] for a block without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

impl LabelId {
    /// No label.
    pub const NONE: Self = Self(0);
}

/// All labels of a machine.
#[derive(Debug, Default)]
pub struct Labels {
    known: RwLock<LabelTable>,
}

#[derive(Debug, Default)]
struct LabelTable {
    /// By number, from 1.
    texts: Vec<Arc<str>>,
    by_text: HashMap<Arc<str>, LabelId>,
}

impl Labels {
    /// The number of a text; equal texts have the same. None is left past 2^32 of them.
    pub fn intern(&self, text: &str) -> LabelId {
        if let Some(&id) = self.known.read().by_text.get(text) {
            return id;
        }
        let mut known = self.known.write();
        if let Some(&id) = known.by_text.get(text) {
            return id;
        }
        let Ok(number) = u32::try_from(known.texts.len() + 1) else { return LabelId::NONE };
        let (id, text) = (LabelId(number), Arc::<str>::from(text));
        known.texts.push(Arc::clone(&text));
        known.by_text.insert(text, id);
        id
    }

    /// The text of a label.
    pub fn text(&self, id: LabelId) -> Option<Arc<str>> {
        let index = usize::try_from(id.0).ok()?.checked_sub(1)?;
        self.known.read().texts.get(index).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number_and_none_has_no_text() {
        let labels = Labels::default();
        let [a, b] = ["result 0", "result 1"].map(|text| labels.intern(text));
        assert_ne!(a, b);
        assert_eq!(labels.intern("result 0"), a);
        assert_eq!(labels.text(b).as_deref(), Some("result 1"));
        assert_eq!(labels.text(LabelId::NONE), None);
        assert_eq!(labels.text(LabelId(3)), None);
    }
}
