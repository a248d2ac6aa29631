//! The calls that took what lives at a moment, as a tree.
use crate::input::{Input, InputError};
use crate::text::{bytes, careful, json, one_line};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use tpu_trace::{Call, Face, MomentName, calls, live};

/// The most calls of a stack that are shown: those at both of its ends.
const SHOWN: usize = 400;

/// A share of all, in hundredths.
pub(crate) fn least_share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
    share.ok_or_else(|| "a number from 0 to 100".to_owned())
}

/// A call, and what it and those that it called took.
#[derive(Debug, Default)]
struct Node {
    size: u64,
    callees: BTreeMap<String, Node>,
}

impl Node {
    fn add(&mut self, path: &[String], size: u64) {
        self.size += size;
        if let Some((callee, rest)) = path.split_first() {
            self.callees.entry(callee.clone()).or_default().add(rest, size);
        }
    }

    /// The calls that took at least so much, those that took most first.
    fn branches(&self, least: u64) -> Vec<Branch> {
        let shown = self.callees.iter().filter(|(_, node)| node.size >= least);
        let mut calls: Vec<Branch> = shown
            .map(|(name, node)| Branch {
                name: name.clone(),
                size: node.size,
                calls: node.branches(least),
            })
            .collect();
        calls.sort_by_key(|branch| std::cmp::Reverse(branch.size));
        calls
    }

    /// A line a call, those that took most first; a chain of calls without a branch keeps its depth.
    fn print(&self, depth: usize, least: u64, into: &mut String) {
        let mut callees: Vec<(&String, &Self)> = self.callees.iter().collect();
        callees.sort_by_key(|(_, node)| std::cmp::Reverse(node.size));
        for (name, node) in callees {
            if node.size < least {
                continue;
            }
            let only = self.callees.len() == 1 && depth > 0 && node.size == self.size;
            let depth = if only { depth } else { depth + 1 };
            into.push_str(&format!(
                "{:>9}  {}{}\n",
                bytes(node.size),
                "  ".repeat(depth - 1),
                one_line(name)
            ));
            node.print(depth, least, into);
        }
    }
}

/// The tree for programs.
#[derive(Debug, Serialize)]
struct Tree {
    file: String,
    at: String,
    cut: Vec<String>,
    /// Bytes of all that lives.
    size: u64,
    calls: Vec<Branch>,
}

/// A call with those that it called.
#[derive(Debug, Serialize)]
struct Branch {
    name: String,
    /// Bytes that it and those that it called took.
    size: u64,
    calls: Vec<Self>,
}

/// The tree of a file at a moment.
pub(crate) fn tree(
    file: &Path,
    at: &MomentName,
    face: Face,
    least: f64,
    as_json: bool,
) -> Result<String, InputError> {
    let input = Input::open(file)?;
    let at = input.moment(at)?;
    let trace = &input.trace;
    let mut root = Node::default();
    for (space, history) in trace.spaces.iter().zip(&input.history.spaces) {
        for place in live(trace, history, at.changes(history)) {
            let event = trace.events.at(place);
            let mut path = vec![space.name()];
            path.extend(calls(trace, &event, face).iter().map(Call::text));
            if path.len() > SHOWN {
                let left_out = format!("… {} calls", path.len() - SHOWN);
                path.splice(SHOWN / 2..path.len() - SHOWN / 2, [left_out]);
            }
            root.add(&path, event.size);
        }
    }
    if as_json {
        let least = hundredths(root.size, least);
        return Ok(json(&Tree {
            file: input.name.clone(),
            at: at.words(trace),
            cut: input.cut(),
            size: root.size,
            calls: root.branches(least),
        }));
    }
    let mut text = careful(&input.cut());
    text += &format!("{} {}\n", bytes(root.size), one_line(&at.words(trace)));
    root.print(0, hundredths(root.size, least), &mut text);
    Ok(text)
}

/// So many hundredths of a size.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` keeps to bounds")]
#[expect(clippy::cast_precision_loss, reason = "a limit for what is shown")]
fn hundredths(size: u64, percent: f64) -> u64 {
    (size as f64 * percent / 100.0) as u64
}
