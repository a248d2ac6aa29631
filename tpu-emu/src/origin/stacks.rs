//! Interned stacks: a prefix tree, one integer a stack.
use super::Frame;
use parking_lot::RwLock;
use rustc_hash::{FxHashMap, FxHasher};
use std::cell::RefCell;
use std::hash::Hasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names one interned stack; 0 is the empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct StackId(pub u32);

impl StackId {
    /// The stack without frames.
    pub const EMPTY: Self = Self(0);
}

/// One frame and the frames that called it.
#[derive(Debug, Clone, Copy)]
struct StackNode {
    frame: Frame,
    /// The caller's node; 0 is the root.
    caller: u32,
}

#[derive(Debug)]
struct Tree {
    /// Node 0 is the root and has no frame.
    nodes: Vec<StackNode>,
    children: FxHashMap<(u32, Frame), u32>,
    /// Hash of a whole stack to the nodes with that hash.
    whole: FxHashMap<u64, u32>,
}

/// The set of all stacks seen.
///
/// Stacks share their outer frames: a new stack costs one node for each frame that differs.
#[derive(Debug)]
pub struct Stacks {
    tree: RwLock<Tree>,
    /// No other set of the process has it.
    number: u64,
}

/// Stacks that a thread remembers: those of a launch and of what is given up around it.
const RECENT: usize = 4;

/// A stack that the thread has asked for.
#[derive(Debug, Default)]
struct AskedStack {
    /// The set's number; 0 for none.
    set: u64,
    frames: Vec<Frame>,
    id: StackId,
}

thread_local! {
    /// What the thread asked for last, and which is forgotten next. A loop asks for the same
    /// stacks again and again, and to compare them costs less than to hash them.
    static ASKED: RefCell<([AskedStack; RECENT], usize)> = RefCell::default();
}

impl Default for Stacks {
    fn default() -> Self {
        let root = StackNode { frame: Frame(0), caller: 0 };
        let tree =
            Tree { nodes: vec![root], children: FxHashMap::default(), whole: FxHashMap::default() };
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { tree: RwLock::new(tree), number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Stacks {
    /// The number of `frames`, innermost first; the same frames always get the same number.
    pub fn intern(&self, frames: &[Frame]) -> StackId {
        if frames.is_empty() {
            return StackId::EMPTY;
        }
        // A thread that ends remembers nothing, and neither does a call inside of a call.
        let asked = |asked: &RefCell<([AskedStack; RECENT], usize)>| {
            let Ok(mut asked) = asked.try_borrow_mut() else { return self.look_up(frames) };
            let (known, next) = &mut *asked;
            let same = |known: &&AskedStack| known.set == self.number && known.frames == frames;
            if let Some(known) = known.iter().find(same) {
                return known.id;
            }
            let id = self.look_up(frames);
            let Some(place) = known.get_mut(*next) else { return id };
            place.frames.clear();
            place.frames.extend_from_slice(frames);
            (place.set, place.id) = (self.number, id);
            *next = (*next + 1) % RECENT;
            id
        };
        ASKED.try_with(asked).unwrap_or_else(|_| self.look_up(frames))
    }

    fn look_up(&self, frames: &[Frame]) -> StackId {
        let hash = hash_of(frames);
        {
            let tree = self.tree.read();
            if let Some(&node) = tree.whole.get(&hash)
                && tree.equals(node, frames)
            {
                return StackId(node);
            }
        }
        let mut tree = self.tree.write();
        let node = tree.insert(frames);
        tree.whole.insert(hash, node);
        StackId(node)
    }

    /// The frames of a stack, innermost first; none for a number never given out.
    pub fn frames(&self, id: StackId) -> Vec<Frame> {
        let tree = self.tree.read();
        tree.walk(id.0).collect()
    }

    /// The innermost frame of a stack and the stack of its caller; `None` for the empty stack
    /// and for a number never given out.
    pub fn node(&self, id: StackId) -> Option<(Frame, StackId)> {
        let tree = self.tree.read();
        let node = tree.nodes.get(id.0 as usize).filter(|_| id != StackId::EMPTY)?;
        Some((node.frame, StackId(node.caller)))
    }

    /// How many nodes the tree holds, its root not counted.
    pub fn nodes(&self) -> usize {
        self.tree.read().nodes.len() - 1
    }
}

impl Tree {
    fn walk(&self, node: u32) -> impl Iterator<Item = Frame> + '_ {
        let mut next = node;
        std::iter::from_fn(move || {
            let node = self.nodes.get(next as usize).filter(|_| next != 0)?;
            next = node.caller;
            Some(node.frame)
        })
    }

    fn equals(&self, node: u32, frames: &[Frame]) -> bool {
        self.walk(node).eq(frames.iter().copied())
    }

    fn insert(&mut self, frames: &[Frame]) -> u32 {
        frames.iter().rev().fold(0, |caller, &frame| {
            if let Some(&node) = self.children.get(&(caller, frame)) {
                return node;
            }
            // Past four thousand million frames every new stack is the root: unknown, not wrong.
            let Ok(node) = u32::try_from(self.nodes.len()) else { return 0 };
            self.nodes.push(StackNode { frame, caller });
            self.children.insert((caller, frame), node);
            node
        })
    }
}

fn hash_of(frames: &[Frame]) -> u64 {
    let mut hasher = FxHasher::default();
    frames.iter().for_each(|frame| hasher.write_u64(frame.0));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_remembers_is_of_its_set_alone() {
        let (first, second) = (Stacks::default(), Stacks::default());
        let stack = |n: u64| [Frame(n), Frame(n + 1)];
        second.intern(&stack(90));
        // More than are remembered, in turns.
        for _ in 0..3 {
            for n in 1..=2 * RECENT as u64 {
                let ids = [&first, &second].map(|set| set.intern(&stack(10 * n)));
                assert_ne!(ids[0], ids[1]);
                for (set, id) in [&first, &second].into_iter().zip(ids) {
                    assert_eq!(set.intern(&stack(10 * n)), id);
                    assert_eq!(set.frames(id), stack(10 * n));
                }
            }
        }
    }

    fn stack<const N: usize>(frames: [u64; N]) -> [Frame; N] {
        frames.map(Frame)
    }

    #[test]
    fn a_known_stack_keeps_its_number_and_costs_nothing() {
        let stacks = Stacks::default();
        let first = stacks.intern(&stack([3, 2, 1]));
        let nodes = stacks.nodes();
        assert_eq!(stacks.intern(&stack([3, 2, 1])), first);
        assert_eq!(stacks.nodes(), nodes);
        assert_eq!(stacks.frames(first), stack([3, 2, 1]));
    }

    #[test]
    fn stacks_share_their_outer_frames() {
        let stacks = Stacks::default();
        stacks.intern(&stack([3, 2, 1]));
        let other = stacks.intern(&stack([4, 2, 1]));
        assert_eq!(stacks.nodes(), 4);
        assert_eq!(stacks.frames(other), stack([4, 2, 1]));
    }

    #[test]
    fn a_prefix_is_another_stack() {
        let stacks = Stacks::default();
        let long = stacks.intern(&stack([2, 1]));
        let short = stacks.intern(&stack([1]));
        assert_ne!(long, short);
        assert_eq!(stacks.frames(short), stack([1]));
    }

    #[test]
    fn an_unknown_number_has_no_frames() {
        assert!(Stacks::default().frames(StackId(7)).is_empty());
        assert!(Stacks::default().frames(StackId::EMPTY).is_empty());
    }
}
