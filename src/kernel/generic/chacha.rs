//! ChaCha with 8 rounds, the source of random numbers.

use super::super::arithmetic::Arithmetic;
use super::super::words::Words;

/// Words of a block.
const BLOCK: usize = 16;

/// Words generated at once.
pub const CHACHA_WORDS: usize = 16 * BLOCK;

/// The words of blocks `counter` to `counter + 15` of the stream of `key`, block after block. The counter has 64 bits,
/// as in Bernstein's original, and there is no nonce.
///
/// Cost: with vectors of 16 words about 500 operations for all 256; bound by the operations per cycle.
#[inline(always)]
pub fn chacha8<A: Arithmetic>(key: &[u32; 8], counter: u64, out: &mut [u32; CHACHA_WORDS]) {
    // Enough blocks side by side that no operation waits for the one before it.
    match A::Words::FOURS {
        4.. => chacha8_by::<A::Words, 4>(key, counter, out),
        2 => chacha8_by::<A::Words, 2>(key, counter, out),
        _ => chacha8_by::<A::Words, 1>(key, counter, out),
    }
}

#[inline(always)]
fn chacha8_by<W: Words, const G: usize>(key: &[u32; 8], counter: u64, out: &mut [u32; CHACHA_WORDS]) {
    /// "expand 32-byte k".
    const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
    let [k0, k1, k2, k3, k4, k5, k6, k7] = *key;
    let (constants, low, high) = (W::repeat(CONSTANTS), W::repeat([k0, k1, k2, k3]), W::repeat([k4, k5, k6, k7]));
    for (i, out) in out.chunks_exact_mut(G * W::FOURS * BLOCK).enumerate() {
        let first = counter.wrapping_add((i * G * W::FOURS) as u64);
        let mut counters = [constants; G];
        for g in 0..G {
            counters[g] = W::counters(first.wrapping_add((g * W::FOURS) as u64));
        }
        let (mut a, mut b, mut c, mut d) = ([constants; G], [low; G], [high; G], counters);
        for _ in 0..4 {
            quarter_rounds(&mut a, &mut b, &mut c, &mut d);
            // Diagonals become columns, and then columns again.
            step::<W, G, 1>(&mut b);
            step::<W, G, 2>(&mut c);
            step::<W, G, 3>(&mut d);
            quarter_rounds(&mut a, &mut b, &mut c, &mut d);
            step::<W, G, 3>(&mut b);
            step::<W, G, 2>(&mut c);
            step::<W, G, 1>(&mut d);
        }
        for (g, out) in out.chunks_exact_mut(W::FOURS * BLOCK).enumerate() {
            W::write([a[g].add(constants), b[g].add(low), c[g].add(high), d[g].add(counters[g])], out);
        }
    }
}

#[inline(always)]
fn step<W: Words, const G: usize, const TIMES: usize>(words: &mut [W; G]) {
    // Not with `map`, whose closure would be compiled without the target features.
    for g in 0..G {
        for _ in 0..TIMES {
            words[g] = words[g].step();
        }
    }
}

#[inline(always)]
fn quarter_rounds<W: Words, const G: usize>(a: &mut [W; G], b: &mut [W; G], c: &mut [W; G], d: &mut [W; G]) {
    half_round::<W, G, 16>(a, b, d);
    half_round::<W, G, 12>(c, d, b);
    half_round::<W, G, 8>(a, b, d);
    half_round::<W, G, 7>(c, d, b);
}

/// `x ← x + y; z ← (z ⊕ x)`, rotated by BITS.
#[inline(always)]
fn half_round<W: Words, const G: usize, const BITS: i32>(x: &mut [W; G], y: &[W; G], z: &mut [W; G]) {
    for g in 0..G {
        x[g] = x[g].add(y[g]);
        z[g] = z[g].xor(x[g]).turn::<BITS>();
    }
}
