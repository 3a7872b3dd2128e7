//! The bounds of the theorems, and sample sizes.

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

/// Bounds ‖w_T − w*‖² for SGD on a strongly convex objective (Theorem 2).
///
/// The steps are 1/((l−δ)k), and every gradient has a relative error of at most δ:
///
///     G²·[(1+δ)²/((l−δ)²T) + δ/(l−δ)]
///
/// At T = 2 the first term counts twice. In all bounds, w_1 is the start and T counts iterates, w*
/// is the minimiser and f* = f(w*).
///
/// @param l      modulus of strong convexity, > 0: f − (l/2)‖w‖² is convex. For a one-layer model it
///               is λ of plim_model_set_regularization().
/// @param big_g  G, > 0: an upper bound on the norm of the gradient wherever the iterates may be.
/// @param delta  δ, 0 <= δ < l.
/// @param t      T, at least 1.
/// @param out    receives the bound.
///
/// @return PLIM_OK or a common error. plim_last_error() names the condition that does not hold:
///         "delta = 0.3: 0 <= delta < l = 0.1 does not hold".
///         PLIM_ERROR_INVALID_ARGUMENT: also if the bound is too large for a double. This applies to
///           all bounds.
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

/// Bounds f(w̄_T) − f* for the mean w̄_T of the first T iterates, under the conditions of
/// plim_bound_strongly_convex_iterate() (Theorem 2):
///
///     G²/(2T)·[δT + (1+δ)²/(l−δ)·(1 + log T)]
///
/// @param l      modulus of strong convexity, > 0.
/// @param big_g  G, > 0: an upper bound on the norm of the gradient wherever the iterates may be.
/// @param delta  δ, 0 <= δ < l.
/// @param t      T, at least 1.
/// @param out    receives the bound.
///
/// @return PLIM_OK or a common error.
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

/// Bounds f(w_T) − f* under the conditions of plim_bound_strongly_convex_iterate() (Theorem 3).
///
/// The gradient must also be Lipschitz with constant L, and 0 at w*: w* must not lie on the boundary
/// of a ball or box that iterates are projected onto. The bound is L/2 times the bound on ‖w_T −
/// w*‖².
///
/// @param l      modulus of strong convexity, > 0.
/// @param big_l  L, at least `l`.
/// @param big_g  G, > 0: an upper bound on the norm of the gradient wherever the iterates may be.
/// @param delta  δ, 0 <= δ < l.
/// @param t      T, at least 1.
/// @param out    receives the bound.
///
/// @return PLIM_OK or a common error.
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

/// Bounds ‖w_T − w*‖² for SGD with a constant step c on a strongly convex objective (Theorem 4):
///
///     (1−2cl+cδ)^(T−1)·‖w_1−w*‖² + (δ + c(1+δ)²)/(2l−δ)·G²
///
/// The first term vanishes as T grows, the second remains. A smaller step makes the second one
/// smaller, and the first one vanish later.
///
/// @param l                         modulus of strong convexity, > 0.
/// @param big_g                     G, > 0: an upper bound on the norm of the gradient wherever the
///                                  iterates may be.
/// @param delta                     δ, 0 <= δ < l.
/// @param step                      c, 0 < c < 1/(2l−δ).
/// @param t                         T, at least 1.
/// @param initial_distance_squared  ‖w_1−w*‖² or an upper bound on it; >= 0.
/// @param out                       receives the bound.
///
/// @return PLIM_OK or a common error.
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

/// Bounds f(w̄_T) − f* for the mean w̄_T of the first T iterates on a convex objective (Theorem 5).
///
/// The steps are c/√k, relative errors are at most ρ/√T, and iterates are projected onto a set of
/// diameter D:
///
///     1/(2√T)·[(1/c+ρ)D² + G²(ρ + 2c(1+ρ/√T)²)]
///
/// The paper prints a smaller factor in place of 2c, which does not hold for T >= 3.
///
/// @param big_g     G, > 0: an upper bound on the norm of the gradient wherever the iterates may be.
/// @param diameter  D, > 0: twice the radius of plim_optimizer_set_ball().
/// @param rho       ρ, >= 0.
/// @param c         the first step, > 0.
/// @param t         T, at least 1.
/// @param out       receives the bound.
///
/// @return PLIM_OK or a common error.
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

/// Bounds the smallest ‖∇f(w_k)‖² among T iterates, for an objective that need not be convex
/// (Theorem 6).
///
/// The steps are D_f/((1+δ)G√T), nothing is projected, and the gradient is Lipschitz with constant
/// L:
///
///     (1+δ)·L·G·D_f/((1−δ)√T)
///
/// @param big_l  L, > 0.
/// @param big_g  G, > 0: an upper bound on the norm of the gradient wherever the iterates may be.
/// @param d_f    D_f = √(2(f(w_1)−f*)/L), > 0.
/// @param delta  δ, the relative error of the gradients, 0 <= δ < 1.
/// @param t      T, at least 1.
/// @param out    receives the bound.
///
/// @return PLIM_OK or a common error.
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

/// Bounds f(w_T) − f* for SGD with step 1/L on a strongly convex objective (Theorem 7).
///
/// The gradient is Lipschitz with constant L, nothing is projected, and the k-th gradient has an
/// absolute error of at most δ_k:
///
///     (1−l/L)^(T−1)·(f(w_1)−f*) + 1/(2L)·Σ_{i<T} (1−l/L)^(T−1−i)·δ_i²
///
/// @param l            modulus of strong convexity, 0 < l < L.
/// @param big_l        L.
/// @param deltas       T − 1 errors δ_1, δ_2, …, each finite and >= 0; may be NULL if T is 1.
/// @param t            T, at least 1.
/// @param initial_gap  f(w_1) − f* or an upper bound on it; >= 0.
/// @param out          receives the bound.
///
/// @return PLIM_OK or a common error.
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

/// Computes how many nodes N to draw so that, with probability 1−ε, none of T gradients has a
/// relative error of δ or more.
///
/// It assumes that one gradient misses δ with probability C·exp(−τN); plim_tail_fit() measures C and
/// τ for a δ. Over T steps the probability is at most T·C·exp(−τN). N is the smallest number for
/// which that is at most ε: log(T·C/ε)/τ, rounded up. It inverts plim_sample_epsilon(), as far as
/// the precision of a double allows.
///
/// @param tau      τ, > 0.
/// @param c        C, > 0.
/// @param t        T, the number of steps, at least 1.
/// @param epsilon  ε, 0 < ε <= 1.
/// @param out      receives N, at least 1.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: also if N would exceed 2^53.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_sample_size(tau: f64, c: f64, t: usize, epsilon: f64, out: *mut usize) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    unsafe { answer(out, || size::sample_size(tau, c, t, epsilon)) }
}

/// Computes the probability that at least one of T gradients from N draws has a relative error of δ
/// or more: min(1, T·C·exp(−τN)).
///
/// @param tau          τ for this δ, > 0.
/// @param c            C, > 0.
/// @param t            T, the number of steps, at least 1.
/// @param sample_size  N, at least 1.
/// @param out          receives ε; 0 if it is too small for a double.
///
/// @return PLIM_OK or a common error.
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

/// Computes the smallest δ that, with probability 1−ε, all of T gradients from N draws stay below.
///
/// N draws suffice for a fitted δ if its margin τN − log(T·C/ε) is not negative. The result lies
/// between the last δ for which N draws do not suffice and the next one, where a linear
/// interpolation of the margin is 0. If they suffice for every δ, it is the first.
///
/// @param deltas       `count` relative errors in ascending order, each > 0, for which C and τ were
///                     fitted.
/// @param cs           `count` values of C, each > 0.
/// @param taus         `count` values of τ, each > 0.
/// @param count        at least 1.
/// @param t            T, the number of steps, at least 1.
/// @param epsilon      ε, 0 < ε <= 1.
/// @param sample_size  N, at least 1.
/// @param out          receives δ.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: also if N draws do not suffice for the largest δ.
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
