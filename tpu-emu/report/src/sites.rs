//! From where, by what and for what blocks are taken and given back: each combination once.
use crate::order::{Order, Step};
use std::collections::HashMap;
use tpu_trace::{By, ChangeKind, Event, History, Trace, key_text};

/// Stack, label, array type and API function of an allocation.
pub(crate) type Site = [u32; 4];

/// The combinations that a trace has, and which one each change is of.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    /// Of allocations.
    pub(crate) taken: Vec<Site>,
    /// Stack and API function of frees.
    pub(crate) given: Vec<[u32; 2]>,
    /// Of each allocation, in the order of their numbers.
    pub(crate) taken_at: Vec<u32>,
    /// Of each step that is no allocation, in their order.
    pub(crate) given_at: Vec<u32>,
}

impl Sites {
    /// Those of the changes in an order.
    pub(crate) fn new(trace: &Trace, history: &History, order: &Order) -> Self {
        let mut sites = Self::default();
        let mut taken: HashMap<Site, u32> = HashMap::new();
        let mut given: HashMap<[u32; 2], u32> = HashMap::new();
        for step in &order.steps {
            let event = event_of(trace, history, *step);
            let Event { stack, label, spec, entry, .. } = event;
            if event.kind == ChangeKind::Allocate {
                let site = [stack, label, spec, entry];
                let at = number_of(&mut taken, &mut sites.taken, site);
                sites.taken_at.push(at);
            } else {
                let at = number_of(&mut given, &mut sites.given, [stack, entry]);
                sites.given_at.push(at);
            }
        }
        sites
    }
}

/// The event of a step.
pub(crate) fn event_of(trace: &Trace, history: &History, step: Step) -> Event {
    trace.events.at(history.spaces[step.space as usize].order[step.at as usize])
}

fn number_of<K: Copy + Eq + std::hash::Hash>(
    known: &mut HashMap<K, u32>,
    list: &mut Vec<K>,
    key: K,
) -> u32 {
    *known.entry(key).or_insert_with(|| {
        list.push(key);
        // There are fewer combinations than changes, of which a trace has less than 2³².
        u32::try_from(list.len() - 1).unwrap_or(u32::MAX)
    })
}

/// Words by which blocks are summed up, each once, and which one each place of a table has.
#[derive(Debug)]
pub(crate) struct Keys<'a> {
    trace: &'a Trace,
    by: By,
    pub(crate) words: Vec<String>,
    numbers: HashMap<String, u32>,
    places: HashMap<u32, u32>,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(trace: &'a Trace, by: By) -> Self {
        Self { trace, by, words: Vec::new(), numbers: HashMap::new(), places: HashMap::new() }
    }

    /// The number of the words of a place: of a stack for lines, of a label for executables.
    pub(crate) fn of(&mut self, place: u32) -> u32 {
        let Self { trace, by, words, numbers, places } = self;
        *places.entry(place).or_insert_with(|| {
            let text = key_text(trace, *by, place);
            if let Some(&number) = numbers.get(&text) {
                return number;
            }
            let number = u32::try_from(words.len()).unwrap_or(u32::MAX);
            words.push(text.clone());
            numbers.insert(text, number);
            number
        })
    }
}
