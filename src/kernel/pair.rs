//! Two vectors as one of twice the length.

use super::lanes::Lanes;

/// The first half of the lanes, and the second half.
#[derive(Clone, Copy)]
pub struct Pair<L>(L, L);

impl<L: Lanes> Lanes for Pair<L> {
    const N: usize = 2 * L::N;

    type Which = (L::Which, L::Which);

    #[inline(always)]
    fn all(x: f32) -> Self {
        Pair(L::all(x), L::all(x))
    }

    #[inline(always)]
    fn every<const C: usize>(x: &[f32]) -> Self {
        Pair(L::every::<C>(x), L::every::<C>(&x[L::N * C..]))
    }

    #[inline(always)]
    fn read(x: &[f32]) -> Self {
        Pair(L::read(x), L::read(&x[L::N..]))
    }

    #[inline(always)]
    fn repeated<const H: usize>(x: &[f32]) -> Self {
        if H > L::N {
            return Self::read(x);
        }
        let half = L::repeated::<H>(x);
        Pair(half, half)
    }

    #[inline(always)]
    fn folded<const H: usize>(self) -> Self {
        if H > L::N {
            return self;
        }
        let half = self.0.plus(self.1).folded::<H>();
        Pair(half, half)
    }

    #[inline(always)]
    fn write(self, to: &mut [f32]) {
        self.0.write(to);
        self.1.write(&mut to[L::N..]);
    }

    #[inline(always)]
    fn write_first<const H: usize>(self, to: &mut [f32]) {
        if H > L::N { self.write(to) } else { self.0.write_first::<H>(to) }
    }

    #[inline(always)]
    fn plus(self, x: Self) -> Self {
        Pair(self.0.plus(x.0), self.1.plus(x.1))
    }

    #[inline(always)]
    fn minus(self, x: Self) -> Self {
        Pair(self.0.minus(x.0), self.1.minus(x.1))
    }

    #[inline(always)]
    fn times(self, x: Self) -> Self {
        Pair(self.0.times(x.0), self.1.times(x.1))
    }

    #[inline(always)]
    fn over(self, x: Self) -> Self {
        Pair(self.0.over(x.0), self.1.over(x.1))
    }

    #[inline(always)]
    fn madd(self, x: Self, y: Self) -> Self {
        Pair(self.0.madd(x.0, y.0), self.1.madd(x.1, y.1))
    }

    #[inline(always)]
    fn at_least(self, x: Self) -> Self {
        Pair(self.0.at_least(x.0), self.1.at_least(x.1))
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        Pair(self.0.power_of_two(), self.1.power_of_two())
    }

    #[inline(always)]
    fn above(self, x: Self) -> Self::Which {
        (self.0.above(x.0), self.1.above(x.1))
    }

    #[inline(always)]
    fn equal(self, x: Self) -> Self::Which {
        (self.0.equal(x.0), self.1.equal(x.1))
    }

    #[inline(always)]
    fn is(ids: &[i32], id: i32) -> Self::Which {
        (L::is(ids, id), L::is(&ids[L::N..], id))
    }

    #[inline(always)]
    fn but(self, which: Self::Which, x: Self) -> Self {
        Pair(self.0.but(which.0, x.0), self.1.but(which.1, x.1))
    }

    #[inline(always)]
    fn any(which: Self::Which) -> bool {
        L::any(which.0) || L::any(which.1)
    }
}
