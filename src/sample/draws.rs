//! What is drawn for one cut: plain data, which the caller makes.

use super::Distribution;

/// How the input nodes of a hop are chosen. A hop is a layer's look at the neighbours; hop 0 reads the features.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hop {
    /// All nodes that the rows above touch.
    Exact,
    /// This many draws with replacement.
    Draw(usize),
    /// These draws.
    Given(Vec<i32>),
}

/// What is drawn at the hops of a cut.
#[derive(Clone, Copy)]
pub struct Draws<'a> {
    /// One for each hop, input first; or none, if every hop is exact.
    pub hops: &'a [Hop],
    /// P, for every hop that draws.
    pub distribution: &'a Distribution,
}

impl Draws<'_> {
    /// Every hop is exact.
    pub const NONE: Draws<'static> = Draws { hops: &[], distribution: &Distribution::Uniform };

    /// How the input of hop `hop` is chosen.
    pub fn at(&self, hop: usize) -> &Hop {
        self.hops.get(hop).unwrap_or(&Hop::Exact)
    }
}

/// The key of the random numbers of one cut.
#[derive(Clone, Copy, Default)]
pub struct Key {
    /// The caller's seed.
    pub seed: u64,
    /// Gradients since the seed was set.
    pub step: u64,
}
