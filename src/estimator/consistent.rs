//! The gradient of a batch from a few nodes drawn at the input of each hop.

use super::{Estimator, Kind, Property, Request};
use crate::error::{Error, Result, try_copied, try_with_capacity};
use crate::graph::Graph;
use crate::sample::{Distribution, Draws, Hop, checksum};

struct Consistent {
    /// Draws at the input of each hop; 0 = exact.
    sizes: Vec<usize>,
    /// P of all hops.
    distribution: Distribution,
    /// What each hop draws: its size, or the caller's own draws in its place.
    hops: Vec<Hop>,
}

impl Estimator {
    /// The gradient of a batch with `sizes[l]` nodes drawn at the input of layer l; 0 draws none and is exact.
    pub fn consistent(sizes: &[usize]) -> Result<Self> {
        if sizes.is_empty() {
            return Err(Error::InvalidArgument("num_layers = 0".to_string()));
        }
        let mut hops = try_with_capacity(sizes.len())?;
        hops.extend(sizes.iter().map(|&size| hop(size)));
        Ok(Self::new(Box::new(Consistent { sizes: try_copied(sizes)?, distribution: Distribution::Uniform, hops })))
    }
}

/// What a hop with this sample size draws.
fn hop(size: usize) -> Hop {
    if size == 0 { Hop::Exact } else { Hop::Draw(size) }
}

impl Consistent {
    fn has_pinned_draws(&self) -> bool {
        self.hops.iter().any(|hop| matches!(hop, Hop::Given(_)))
    }
}

impl Kind for Consistent {
    fn name(&self) -> &'static str {
        "consistent"
    }

    fn description(&self) -> String {
        let pinned = |hop: &Hop| match hop {
            Hop::Given(nodes) => Some((nodes.len(), checksum(nodes.iter().map(|v| v.to_le_bytes())))),
            Hop::Exact | Hop::Draw(_) => None,
        };
        let pinned: Vec<_> = self.hops.iter().map(pinned).collect();
        format!("consistent {:?}, {}, pinned {pinned:?}", self.sizes, self.distribution.description())
    }

    /// Nothing is claimed of pinned draws, which are whatever the caller makes them.
    fn property(&self) -> Property {
        if self.has_pinned_draws() {
            Property::NONE
        } else if self.sizes.iter().all(|&size| size == 0) {
            Property::UNBIASED
        } else {
            Property::CONSISTENT
        }
    }

    fn request(&self) -> Request<'_> {
        Request::Nodes(Draws { hops: &self.hops, distribution: &self.distribution })
    }

    fn try_clone(&self) -> Result<Box<dyn Kind>> {
        let mut hops = try_with_capacity(self.hops.len())?;
        for hop in &self.hops {
            hops.push(match hop {
                Hop::Given(nodes) => Hop::Given(try_copied(nodes)?),
                Hop::Exact => Hop::Exact,
                &Hop::Draw(size) => Hop::Draw(size),
            });
        }
        Ok(Box::new(Consistent { sizes: try_copied(&self.sizes)?, distribution: self.distribution.clone(), hops }))
    }

    fn check(&self, num_hops: usize, graph: &Graph) -> Result<()> {
        if self.sizes.len() != num_hops {
            let text = format!("{} sample sizes for a model of {num_hops} layers", self.sizes.len());
            return Err(Error::ShapeMismatch(text));
        }
        self.distribution.check(graph)?;
        for (l, hop) in self.hops.iter().enumerate() {
            if let Hop::Given(nodes) = hop {
                graph.check_nodes(nodes, "").map_err(|e| Error::InvalidArgument(format!("draws[{l}]{e}")))?;
            }
        }
        Ok(())
    }

    fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    fn size(&self) -> Option<usize> {
        let drawn = |hop: &Hop| match hop {
            &Hop::Draw(size) => Some(size),
            Hop::Exact | Hop::Given(_) => None,
        };
        self.hops.iter().filter_map(drawn).max()
    }

    fn set_size(&mut self, size: usize) {
        for (old, drawn) in self.sizes.iter_mut().zip(&mut self.hops).filter(|(old, _)| **old > 0) {
            *old = size;
            if let Hop::Draw(_) = drawn {
                *drawn = hop(size);
            }
        }
    }

    fn set_distribution(&mut self, value: Distribution) -> Result<()> {
        self.distribution = value;
        Ok(())
    }

    fn set_draws(&mut self, layer: usize, nodes: &[i32]) -> Result<()> {
        if layer >= self.hops.len() {
            let text = format!("layer = {layer}, but the estimator samples {} layers", self.hops.len());
            return Err(Error::InvalidArgument(text));
        }
        if let Some(at) = nodes.iter().position(|&v| v < 0) {
            return Err(Error::entry("nodes", at, nodes[at], "is negative"));
        }
        self.hops[layer] = if nodes.is_empty() { hop(self.sizes[layer]) } else { Hop::Given(try_copied(nodes)?) };
        Ok(())
    }
}
