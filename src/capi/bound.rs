//! What the theorems promise, and the sample sizes that go with it.

use super::guard::guard;
use super::ptr;
use super::status::plim_status;
use crate::error::{Error, Result};
use crate::theory::{bounds, size};

/// Gives a number.
///
/// # Safety
/// `out` must be NULL or valid for one write.
unsafe fn answer<T>(out: *mut T, value: impl FnOnce() -> Result<T>) -> plim_status {
    guard(|| {
        // SAFETY: the caller's promise is passed on.
        let out = unsafe { ptr::out("out", out) }?;
        out.set(value()?);
        Ok(())
    })
}

/// How far from the optimum the T-th iterate of SGD can be: a bound on ‖w_T − w*‖² (Theorem 2).
///
/// For a strongly convex objective and steps 1/((l−δ)k), if every gradient used is wrong by at most δ times the norm of
/// the true one: G²·[(1+δ)²/((l−δ)²T) + δ/(l−δ)], where the first term counts twice at T = 2.
///
/// @param l      how strongly convex the objective is: f − (l/2)‖w‖² is convex; > 0. λ for a one-layer model with
///               plim_model_set_regularization(). In a bound, T counts iterates and w_1 is the start.
/// @param big_g  G, at least the norm of the gradient wherever the iterates may be; > 0.
/// @param delta  δ, the relative error of the gradients; 0 <= delta < l.
/// @param t      T, at least 1.
/// @param out    receives the bound; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT; plim_last_error() names the condition that
///         does not hold: "delta = 0.3: 0 <= delta < l = 0.1 does not hold". A bound too large for a double is refused
///         too.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_bound_strongly_convex_iterate(
    l: f64,
    big_g: f64,
    delta: f64,
    t: usize,
    out: *mut f64,
) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, || bounds::strongly_convex_iterate(l, big_g, delta, t)) }
}

/// How far from the least value the average of T iterates can be: a bound on f(w̄_T) − f* (Theorem 2).
///
/// In the setting of plim_bound_strongly_convex_iterate(): G²/(2T)·[δT + (1+δ)²/(l−δ)·(1 + log T)].
///
/// @param l      how strongly convex the objective is; > 0.
/// @param big_g  G, at least the norm of the gradient wherever the iterates may be; > 0.
/// @param delta  δ, the relative error of the gradients; 0 <= delta < l.
/// @param t      T, at least 1.
/// @param out    receives the bound; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_bound_strongly_convex_average(
    l: f64,
    big_g: f64,
    delta: f64,
    t: usize,
    out: *mut f64,
) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, || bounds::strongly_convex_average(l, big_g, delta, t)) }
}

/// How far from the least value the T-th iterate can be: a bound on f(w_T) − f* (Theorem 3).
///
/// In the setting of plim_bound_strongly_convex_iterate(), if the gradient is also Lipschitz with constant L, and is 0
/// at w* (w* does not lie at the edge of a ball or box that iterates are kept in): L/2 times that bound.
///
/// @param l      how strongly convex the objective is; > 0.
/// @param big_l  L, with which the gradient is Lipschitz; >= l.
/// @param big_g  G, at least the norm of the gradient wherever the iterates may be; > 0.
/// @param delta  δ, the relative error of the gradients; 0 <= delta < l.
/// @param t      T, at least 1.
/// @param out    receives the bound; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_bound_strongly_convex_value(
    l: f64,
    big_l: f64,
    big_g: f64,
    delta: f64,
    t: usize,
    out: *mut f64,
) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, || bounds::strongly_convex_value(l, big_l, big_g, delta, t)) }
}

/// How far from the optimum the T-th iterate of SGD with a constant step c can be: a bound on ‖w_T − w*‖² (Theorem 4).
///
/// For a strongly convex objective: (1−2cl+cδ)^(T−1)·‖w_1−w*‖² + (δ + c(1+δ)²)/(2l−δ)·G². The first term dies out, the
/// second stays: a smaller step ends nearer, and gets there later.
///
/// @param l                         how strongly convex the objective is; > 0.
/// @param big_g                     G, at least the norm of the gradient wherever the iterates may be; > 0.
/// @param delta                     δ, the relative error of the gradients; 0 <= delta < l.
/// @param step                      c; 0 < c < 1/(2l−δ).
/// @param t                         T, at least 1.
/// @param initial_distance_squared  ‖w_1−w*‖², or something larger; >= 0.
/// @param out                       receives the bound; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_bound_constant_step(
    l: f64,
    big_g: f64,
    delta: f64,
    step: f64,
    t: usize,
    initial_distance_squared: f64,
    out: *mut f64,
) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, || bounds::constant_step(l, big_g, delta, step, t, initial_distance_squared)) }
}

/// How far from the least value the average of T iterates can be on a convex objective: a bound on f(w̄_T) − f*
/// (Theorem 5).
///
/// For steps c/√k, iterates kept in a set of diameter D (plim_optimizer_set_ball(): twice the radius), and relative
/// errors of at most ρ/√T: 1/(2√T)·[(1/c+ρ)D² + G²(ρ + 2c(1+ρ/√T)²)]. The paper's constant in place of the 2 is too
/// small.
///
/// @param big_g     G, at least the norm of the gradient wherever the iterates may be; > 0.
/// @param diameter  D, > 0.
/// @param rho       ρ, >= 0.
/// @param c         the first step; > 0.
/// @param t         T, at least 1.
/// @param out       receives the bound; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_bound_convex_average(
    big_g: f64,
    diameter: f64,
    rho: f64,
    c: f64,
    t: usize,
    out: *mut f64,
) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, || bounds::convex_average(big_g, diameter, rho, c, t)) }
}

/// How small the gradient gets at one of T iterates, convex or not: a bound on min_k ‖∇f(w_k)‖² (Theorem 6).
///
/// For steps D_f/((1+δ)G√T), nothing projected, and a gradient that is Lipschitz with constant L:
/// (1+δ)·L·G·D_f/((1−δ)√T).
///
/// @param big_l  L, > 0.
/// @param big_g  G, at least the norm of the gradient wherever the iterates may be; > 0.
/// @param d_f    D_f = √(2(f(w_1)−f*)/L), > 0.
/// @param delta  δ, the relative error of the gradients; 0 <= delta < 1.
/// @param t      T, at least 1.
/// @param out    receives the bound; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_bound_nonconvex_gradient(
    big_l: f64,
    big_g: f64,
    d_f: f64,
    delta: f64,
    t: usize,
    out: *mut f64,
) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, || bounds::nonconvex_gradient(big_l, big_g, d_f, delta, t)) }
}

/// How far from the least value the T-th iterate of SGD with step 1/L can be: a bound on f(w_T) − f* (Theorem 7).
///
/// For a strongly convex objective whose gradient is Lipschitz with constant L, nothing projected, and gradients that
/// are wrong by at most δ_1, δ_2, … (absolutely, not relative to their norm):
/// (1−l/L)^(T−1)·(f(w_1)−f*) + 1/(2L)·Σ_{i<T} (1−l/L)^(T−1−i)·δ_i².
///
/// @param l            how strongly convex the objective is; 0 < l < L.
/// @param big_l        L.
/// @param deltas       T−1 errors, each >= 0; NULL with T = 1.
/// @param t            T, at least 1.
/// @param initial_gap  f(w_1) − f*, or something larger; >= 0.
/// @param out          receives the bound; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_bound_linear(
    l: f64,
    big_l: f64,
    deltas: *const f64,
    t: usize,
    initial_gap: f64,
    out: *mut f64,
) -> plim_status {
    let value = || {
        let steps =
            t.checked_sub(1).ok_or_else(|| Error::InvalidArgument("t = 0: t >= 1 does not hold".to_string()))?;
        // SAFETY: the caller promises t - 1 readable numbers behind `deltas`.
        bounds::linear(l, big_l, unsafe { ptr::slice("deltas", deltas, steps) }?, initial_gap)
    };
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, value) }
}

/// How many nodes to draw so that, with probability 1−ε, none of T gradients is wrong by δ or more.
///
/// The chance that a gradient from N draws misses by δ falls like C·exp(−τN); plim_tail_fit() measures C and τ for a δ.
/// Over T steps that makes T·C·exp(−τN), and this is the least N for which it is at most ε: log(T·C/ε)/τ, rounded up.
/// It undoes plim_sample_epsilon(), as far as a double tells ε from 0, from 1 and from the ε of one draw more or less.
///
/// @param tau      τ(δ), > 0.
/// @param c        C, > 0.
/// @param t        T, the number of steps; at least 1.
/// @param epsilon  ε, in (0, 1].
/// @param out      receives N, at least 1; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a value outside its range, or an N beyond
///         any size).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_sample_size(tau: f64, c: f64, t: usize, epsilon: f64, out: *mut usize) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, || size::sample_size(tau, c, t, epsilon)) }
}

/// The chance that at least one of T gradients from N draws is wrong by δ or more: min(1, T·C·exp(−τN)).
///
/// @param tau          τ(δ), > 0.
/// @param c            C, > 0.
/// @param t            T, the number of steps; at least 1.
/// @param sample_size  N, at least 1.
/// @param out          receives ε, which is 0 where no double is as small; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a value outside its range).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_sample_epsilon(
    tau: f64,
    c: f64,
    t: usize,
    sample_size: usize,
    out: *mut f64,
) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, || size::epsilon(tau, c, t, sample_size)) }
}

/// How right T gradients from N draws are: the least δ that none of them misses by, with probability 1−ε.
///
/// N draws suffice for a fitted δ if the margin τN − log(T·C/ε) is not negative. The answer lies between the last δ for
/// which they do not and the next, where the margin, taken to be linear in δ, is 0. If they suffice for every δ it is
/// the first.
///
/// @param deltas       `count` relative errors in rising order, each > 0, for which C and τ were fitted.
/// @param cs           the `count` C, each > 0.
/// @param taus         the `count` τ, each > 0.
/// @param count        at least 1.
/// @param t            T, the number of steps; at least 1.
/// @param epsilon      ε, in (0, 1].
/// @param sample_size  N, at least 1.
/// @param out          receives δ; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a value outside its range, or N draws that
///         do not suffice for the largest δ).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_sample_delta(
    deltas: *const f64,
    cs: *const f64,
    taus: *const f64,
    count: usize,
    t: usize,
    epsilon: f64,
    sample_size: usize,
    out: *mut f64,
) -> plim_status {
    let value = || {
        // SAFETY: the caller promises `count` readable numbers behind each pointer.
        let (deltas, cs) = unsafe { (ptr::slice("deltas", deltas, count)?, ptr::slice("cs", cs, count)?) };
        // SAFETY: as above.
        let taus = unsafe { ptr::slice("taus", taus, count) }?;
        size::delta(deltas, cs, taus, t, epsilon, sample_size)
    };
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, value) }
}
