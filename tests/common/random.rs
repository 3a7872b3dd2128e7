//! Random numbers that are independent of the library's own.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A real in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A float in [low, high).
    pub fn float(&mut self, low: f64, high: f64) -> f32 {
        (low + (high - low) * self.unit()) as f32
    }

    /// `len` floats in [-1, 1).
    pub fn floats(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.float(-1.0, 1.0)).collect()
    }

    /// A whole number in `0 .. n`. The high half of a product: its preference for some is below n·2^-64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A whole number in `0 .. p.len()` that comes with probability `p[i]`.
    pub fn by(&mut self, p: &[f64]) -> usize {
        let mut rest = self.unit();
        p.iter().position(|p| (rest < *p, rest -= p).0).unwrap_or(p.len() - 1)
    }

    /// `count` elements of `list`, uniform without replacement.
    pub fn choose(&mut self, list: &[i32], count: usize) -> Vec<i32> {
        let mut list = list.to_vec();
        for i in 0..count {
            let other = i + self.below(list.len() - i);
            list.swap(i, other);
        }
        list.truncate(count);
        list
    }
}
