//! Random choices that a seed determines (SplitMix64).

use std::ops::RangeInclusive;

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in the range. The bias of the remainder does not matter here.
    pub(super) fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.next() % (range.end() - range.start() + 1)
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.within(1..=times) == 1
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let last = from.len() as u64 - 1;
        &from[usize::try_from(self.within(0..=last)).unwrap_or(0)]
    }
}
