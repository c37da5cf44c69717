//! Which key comes next: the same pseudo-random order for all subjects.

/// Numbers below `count`, all as likely or as Zipf has it.
pub struct Order {
    state: u64,
    count: usize,
    zipf: bool,
}

impl Order {
    pub fn uniform(count: usize) -> Self {
        Self { state: 12_345, count, zipf: false }
    }

    /// With exponent 1: of a thousand calls on a million keys 50 are for the first one, 29 for the second.
    pub fn zipf(count: usize) -> Self {
        Self { zipf: true, ..Self::uniform(count) }
    }

    pub fn next(&mut self) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let part = (self.state >> 32) as f64 / 2_f64.powi(32);
        let count = self.count as f64;
        // The density 1/x from 1 to count + 1, inverted.
        if self.zipf { (count + 1.0).powf(part) as usize - 1 } else { (count * part) as usize }
    }
}
