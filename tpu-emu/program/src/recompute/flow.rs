//! The cheapest cut between a source and a sink of a network (Dinic's algorithm).

/// More than any sum of capacities that are counted.
pub(super) const WITHOUT_LIMIT: u64 = u64::MAX / 4;

struct Edge {
    to: usize,
    left: u64,
}

/// A network of vertices and edges with capacities.
#[derive(Default)]
pub(super) struct Network {
    /// Each edge, and behind it the way back.
    edges: Vec<Edge>,
    /// The edges of each vertex.
    of: Vec<Vec<usize>>,
}

impl Network {
    /// One more vertex.
    pub(super) fn vertex(&mut self) -> usize {
        self.of.push(Vec::new());
        self.of.len() - 1
    }

    /// One more edge.
    pub(super) fn edge(&mut self, from: usize, to: usize, capacity: u64) {
        self.of[from].push(self.edges.len());
        self.edges.push(Edge { to, left: capacity });
        self.of[to].push(self.edges.len());
        self.edges.push(Edge { to: from, left: 0 });
    }

    /// Which vertices lie on the sink's side of the cheapest cut: the fewest, where several cuts
    /// cost the same. `None` where `most` rounds do not find it. Edges may be added behind it, and
    /// the cut be asked for again.
    pub(super) fn sink_side(
        &mut self,
        source: usize,
        sink: usize,
        most: usize,
    ) -> Option<Vec<bool>> {
        for _ in 0..most {
            let distance = self.distances(source);
            if distance[sink] == usize::MAX {
                return Some(self.reaching(sink));
            }
            self.saturate(source, sink, &distance);
        }
        None
    }

    /// How far each vertex is from another over edges that can take more.
    fn distances(&self, source: usize) -> Vec<usize> {
        let mut distance = vec![usize::MAX; self.of.len()];
        distance[source] = 0;
        let mut queue = std::collections::VecDeque::from([source]);
        while let Some(vertex) = queue.pop_front() {
            for &edge in &self.of[vertex] {
                let Edge { to, left } = self.edges[edge];
                if left > 0 && distance[to] == usize::MAX {
                    distance[to] = distance[vertex] + 1;
                    queue.push_back(to);
                }
            }
        }
        distance
    }

    /// Sends what can be sent over shortest ways.
    fn saturate(&mut self, source: usize, sink: usize, distance: &[usize]) {
        let mut next = vec![0; self.of.len()];
        let mut way: Vec<usize> = Vec::new();
        loop {
            let vertex = way.last().map_or(source, |&edge| self.edges[edge].to);
            if vertex == sink {
                let sent = way.iter().map(|&edge| self.edges[edge].left).min().unwrap_or(0);
                for &edge in &way {
                    self.edges[edge].left -= sent;
                    self.edges[edge ^ 1].left += sent;
                }
                let full = way.iter().position(|&edge| self.edges[edge].left == 0);
                way.truncate(full.unwrap_or(0));
                continue;
            }
            let found = self.of[vertex][next[vertex]..].iter().position(|&edge| {
                let Edge { to, left } = self.edges[edge];
                left > 0 && distance[to] == distance[vertex] + 1
            });
            if let Some(skipped) = found {
                next[vertex] += skipped;
                way.push(self.of[vertex][next[vertex]]);
                continue;
            }
            next[vertex] = self.of[vertex].len();
            // Nothing leads on from here: the edge to it is of no use.
            let Some(edge) = way.pop() else { return };
            next[self.edges[edge ^ 1].to] += 1;
        }
    }

    /// The vertices from which another can be reached over edges that can take more.
    fn reaching(&self, sink: usize) -> Vec<bool> {
        let mut found = vec![false; self.of.len()];
        found[sink] = true;
        let mut open = vec![sink];
        while let Some(vertex) = open.pop() {
            for &edge in &self.of[vertex] {
                let from = self.edges[edge].to;
                if self.edges[edge ^ 1].left > 0 && !std::mem::replace(&mut found[from], true) {
                    open.push(from);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::Random;

    /// What a cut costs.
    fn cost(edges: &[(usize, usize, u64)], on_sink_side: impl Fn(usize) -> bool) -> u64 {
        let cut = edges.iter().filter(|&&(from, to, _)| !on_sink_side(from) && on_sink_side(to));
        cut.map(|&(.., capacity)| capacity).sum()
    }

    #[test]
    fn no_cut_of_random_networks_is_cheaper_and_none_as_cheap_has_fewer_vertices() {
        let mut random = Random(11);
        for _ in 0..300 {
            let inner = 1 + random.below(7);
            let (source, sink) = (inner, inner + 1);
            let mut network = Network::default();
            (0..inner + 2).for_each(|_| {
                network.vertex();
            });
            let mut edges = Vec::new();
            for _ in 0..random.below(24) {
                let [from, to] = [(); 2].map(|()| random.below(inner + 2));
                if from != to && from != sink && to != source {
                    let capacity = random.below(6) as u64;
                    network.edge(from, to, capacity);
                    edges.push((from, to, capacity));
                }
            }
            let found = network.sink_side(source, sink, 100).unwrap();
            assert!(found[sink] && !found[source]);
            let own = cost(&edges, |vertex| found[vertex]);
            for set in 0..1_usize << inner {
                let inside =
                    |vertex: usize| vertex == sink || (vertex != source && set >> vertex & 1 == 1);
                let other = cost(&edges, inside);
                assert!(own <= other, "{edges:?}");
                let more = (0..inner).filter(|&vertex| found[vertex] && !inside(vertex)).count();
                assert!(own < other || more == 0, "{edges:?}");
            }
        }
    }
}
