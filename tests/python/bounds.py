"""Bounds and sample sizes against their formulas, which are evaluated here with 60 digits: within 1e-12.

Also consequences of the formulas (monotone, inverse), invalid arguments, and the reason why two bounds differ from the paper:
objectives, run by the library, that exceed the printed form of Theorem 2 at T = 2 and of Theorem 5.
"""
import sys
from decimal import Decimal, getcontext
from math import inf, nan

import numpy as np

from support import check, pl

getcontext().prec = 60
POINTS = 40


# The formulas. Every argument is a Decimal with the exact value of the double that the library receives, or a list of them.

def strongly_convex_iterate(l, big_g, delta, t):
    first = (1 + delta) ** 2 / ((l - delta) ** 2 * t)
    return big_g ** 2 * ((2 if t == 2 else 1) * first + delta / (l - delta))


def strongly_convex_average(l, big_g, delta, t):
    return big_g ** 2 / (2 * t) * (delta * t + (1 + delta) ** 2 / (l - delta) * (1 + t.ln()))


def strongly_convex_value(l, big_l, big_g, delta, t):
    return big_l / 2 * strongly_convex_iterate(l, big_g, delta, t)


def constant_step(l, big_g, delta, step, t, initial_distance_squared):
    shrinks = (1 - 2 * step * l + step * delta) ** (t - 1)
    return shrinks * initial_distance_squared + (delta + step * (1 + delta) ** 2) / (2 * l - delta) * big_g ** 2


def convex_average(big_g, diameter, rho, c, t):
    along = rho + 2 * c * (1 + rho / t.sqrt()) ** 2
    return ((1 / c + rho) * diameter ** 2 + big_g ** 2 * along) / (2 * t.sqrt())


def nonconvex_gradient(big_l, big_g, d_f, delta, t):
    return (1 + delta) * big_l * big_g * d_f / ((1 - delta) * t.sqrt())


def linear(l, big_l, deltas, t, initial_gap):
    """The sum in its terms."""
    keep = 1 - l / big_l
    total = keep ** (t - 1) * initial_gap
    for i, delta in enumerate(deltas, 1):
        total += keep ** (t - 1 - i) * delta ** 2 / (2 * big_l)
    return total


def sample_size(tau, c, t, epsilon):
    return max(Decimal(1), ((t * c / epsilon).ln() / tau).to_integral_value(rounding="ROUND_CEILING"))


def sample_epsilon(tau, c, t, sample_size):
    return min(Decimal(1), t * c * (-tau * sample_size).exp())


def sample_delta(deltas, cs, taus, t, epsilon, sample_size):
    margins = [tau * sample_size - (t * c / epsilon).ln() for c, tau in zip(cs, taus)]
    missed = [i for i, margin in enumerate(margins) if margin < 0]
    if not missed:
        return deltas[0]
    i = missed[-1]
    return (deltas[i] * margins[i + 1] - deltas[i + 1] * margins[i]) / (margins[i + 1] - margins[i])


FORMULAS = {f.__name__: f for f in (strongly_convex_iterate, strongly_convex_average, strongly_convex_value,
                                    constant_step, convex_average, nonconvex_gradient, linear, sample_size,
                                    sample_epsilon, sample_delta)}


def library(name, **arguments):
    """The library's result. Arguments have the names of the header, in its order."""
    return answer(name, arguments, blank(name))


def blank(name):
    """An array for the result, with a value that no result has."""
    return np.full(1, 77, np.uintp) if name == "sample_size" else np.full(1, np.nan)


def answer(name, arguments, out):
    values = [np.array(v, np.float64) if isinstance(v, list) else v for v in arguments.values()]
    if name == "sample_delta":
        values.insert(3, len(arguments["deltas"]))
    pl._lib.call(f"plim_{name}" if name.startswith("sample") else f"plim_bound_{name}", *values, out)
    return out[0]


def formula(name, **arguments):
    exact = {key: [Decimal(x) for x in v] if isinstance(v, list) else Decimal(v) for key, v in arguments.items()}
    return FORMULAS[name](**exact)


# Random points that meet the conditions.

def log_uniform(rng, low, high):
    return float(10.0 ** rng.uniform(low, high))


def count(rng, high):
    return int(10.0 ** rng.uniform(0, high))


def share(rng):
    """In [0, 1): uniform, 0, or very near to 1."""
    return float(rng.choice([rng.uniform(), 0.0, 1.0 - log_uniform(rng, -9, -1)], p=[0.6, 0.2, 0.2]))


def point(name, rng):
    l, big_g, delta, t = log_uniform(rng, -3, 2), log_uniform(rng, -2, 3), share(rng), count(rng, 12)
    strongly = {"l": l, "big_g": big_g, "delta": l * delta, "t": t}
    if name in ("strongly_convex_iterate", "strongly_convex_average"):
        return strongly
    if name == "strongly_convex_value":
        return {"l": l, "big_l": l * log_uniform(rng, 0, 3)} | strongly
    if name == "constant_step":
        step = float(rng.choice([rng.uniform(0.01, 0.99), log_uniform(rng, -12, -2)])) / (2.0 * l - l * delta)
        # (1 - c(2l - δ))^(T-1) is then between 1 and 1e-17.
        t = 1 + int(rng.uniform(0.0, 40.0) / (step * (2.0 * l - l * delta)))
        return {"l": l, "big_g": big_g, "delta": l * delta, "step": step, "t": t,
                "initial_distance_squared": rng.uniform(0.0, 1.0) * (big_g / l) ** 2}
    if name == "convex_average":
        return {"big_g": big_g, "diameter": log_uniform(rng, -2, 2), "rho": 10.0 * delta,
                "c": log_uniform(rng, -3, 2), "t": t}
    if name == "nonconvex_gradient":
        return {"big_l": l, "big_g": big_g, "d_f": log_uniform(rng, -2, 2), "delta": delta, "t": t}
    if name == "linear":
        t = count(rng, 2.5)
        deltas = log_uniform(rng, -3, 1) * rng.uniform(size=t - 1) * rng.uniform(0.9, 1.0) ** np.arange(t - 1)
        near = 1.0 - log_uniform(rng, -9, -1)
        ratio = float(rng.choice([rng.uniform(0.0001, 0.99), log_uniform(rng, -9, -2), near]))
        return {"l": l * ratio, "big_l": l, "deltas": deltas.tolist(), "t": t, "initial_gap": log_uniform(rng, -2, 3)}
    tail = {"tau": log_uniform(rng, -5, 0.5), "c": log_uniform(rng, -1, 2), "t": count(rng, 6)}
    epsilon = log_uniform(rng, -12, 0)
    if name == "sample_size":
        return tail | {"epsilon": epsilon}
    if name == "sample_epsilon":
        return tail | {"sample_size": 1 + int(rng.uniform(0.0, 600.0) / tail["tau"])}
    fits = {"deltas": np.cumsum(rng.uniform(0.01, 0.3, 6)).tolist(), "cs": (10.0 ** rng.uniform(0, 1, 6)).tolist(),
            "taus": (1e-2 * np.cumsum(rng.uniform(0.1, 1.0, 6))).tolist()}
    at = int(rng.integers(6))
    enough = library("sample_size", tau=fits["taus"][at], c=fits["cs"][at], t=tail["t"], epsilon=epsilon)
    return fits | {"t": tail["t"], "epsilon": epsilon, "sample_size": int(enough) + int(rng.integers(3))}


def points(name, number=POINTS):
    rng = np.random.default_rng(sorted(FORMULAS).index(name))
    return [point(name, rng) for _ in range(number)]


def agrees(name, arguments, found):
    """Within 1e-12 of the formula; a sample size has to be equal."""
    expected = formula(name, **arguments)
    error = float(abs(Decimal(float(found)) / expected - 1))
    check.errors[name] = max(check.errors.get(name, 0.0), error)
    assert error <= (0.0 if name == "sample_size" else 1e-12), f"{found} instead of {expected:.17g} at {arguments}"


def the_library_evaluates_the_formula(name):
    compared = 0
    for arguments in points(name):
        try:
            found = library(name, **arguments)
        except pl.InvalidArgumentError as error:
            assert name == "sample_delta" and "too few draws" in str(error), error
            continue
        agrees(name, arguments, found)
        compared += 1
    assert compared >= 20, f"only {compared} points"


def test_the_first_iterates_have_a_bound_of_their_own():
    for t in (1, 2, 3, 4):
        for name in ("strongly_convex_iterate", "strongly_convex_average"):
            arguments = {"l": 0.7, "big_g": 3.1, "delta": 0.2, "t": t}
            agrees(name, arguments, library(name, **arguments))
    iterate = [library("strongly_convex_iterate", l=0.5, big_g=1.0, delta=0.0, t=t) for t in (1, 2, 3, 4)]
    check.same(iterate, [4.0, 4.0, 4.0 / 3.0, 1.0], "l = 1/2")


def test_extreme_constants_do_not_lose_digits():
    """1 - x that rounds to 1, l - δ that is the last bit of l, G² or TC that overflows."""
    below = float(np.nextafter(0.3, 0.0))
    cases = [("constant_step", {"l": 1.0, "big_g": 1e-9, "delta": 0.0, "step": 1e-17, "t": 10 ** 17,
                                "initial_distance_squared": 1.0}),
             ("constant_step", {"l": 1.0, "big_g": 1e-9, "delta": 0.5, "step": 1e-12, "t": 2 ** 44,
                                "initial_distance_squared": 3.0}),
             ("strongly_convex_iterate", {"l": 0.3, "big_g": 1.0, "delta": below, "t": 7}),
             ("strongly_convex_average", {"l": 0.3, "big_g": 1.0, "delta": below, "t": 7}),
             ("strongly_convex_iterate", {"l": 1e200, "big_g": 1e200, "delta": 1.0, "t": 5}),
             ("strongly_convex_iterate", {"l": 1e-200, "big_g": 1e-200, "delta": 0.0, "t": 2 ** 64 - 1}),
             ("strongly_convex_average", {"l": 1e200, "big_g": 1e200, "delta": 0.0, "t": 5}),
             ("nonconvex_gradient", {"big_l": 1e200, "big_g": 1e200, "d_f": 1e-200, "delta": below, "t": 9}),
             ("nonconvex_gradient", {"big_l": 1e-200, "big_g": 1e300, "d_f": 1e-200, "delta": 0.5, "t": 9}),
             ("linear", {"l": 1e-9, "big_l": 1.0, "deltas": [1e-5] * 4999, "t": 5000, "initial_gap": 2.0}),
             ("linear", {"l": below, "big_l": 0.3, "deltas": [0.0], "t": 2, "initial_gap": 2.0}),
             ("sample_epsilon", {"tau": 1e-3, "c": 1e300, "t": 2 ** 60, "sample_size": 10 ** 6}),
             ("sample_size", {"tau": 1e-3, "c": 1e300, "t": 2 ** 60, "epsilon": 1e-300})]
    for name, arguments in cases:
        agrees(name, arguments, library(name, **arguments))


# Which results rise (+1) or fall (-1) with which argument. A bound may stay equal only where rounding hides the difference.
MONOTONE = {
    "strongly_convex_iterate": {"l": -1, "big_g": 1, "delta": 1, "t": -1},
    "strongly_convex_average": {"l": -1, "big_g": 1, "delta": 1, "t": -1},
    "strongly_convex_value": {"l": -1, "big_l": 1, "big_g": 1, "delta": 1, "t": -1},
    "constant_step": {"l": -1, "big_g": 1, "delta": 1, "t": -1, "initial_distance_squared": 1},
    "convex_average": {"big_g": 1, "diameter": 1, "rho": 1, "t": -1},
    "nonconvex_gradient": {"big_l": 1, "big_g": 1, "d_f": 1, "delta": 1, "t": -1},
    "linear": {"l": -1, "deltas": 1, "initial_gap": 1},
    "sample_size": {"tau": -1, "c": 1, "t": 1, "epsilon": -1},
    "sample_epsilon": {"tau": -1, "c": 1, "t": 1, "sample_size": -1},
    "sample_delta": {"taus": -1, "cs": 1, "t": 1, "epsilon": -1, "sample_size": -1},
}


def grown(value):
    if isinstance(value, list):
        return [1.01 * v for v in value]
    return value + 1 + value // 3 if isinstance(value, int) else 1.01 * value


def the_result_moves_in_the_right_direction(name, argument, sign):
    compared = strict = 0
    for arguments in points(name, 3 * POINTS):
        more = arguments | {argument: grown(arguments[argument])}
        try:
            low, high = library(name, **arguments), library(name, **more)
        except pl.InvalidArgumentError:  # outside the theorem's conditions
            continue
        change = sign * (float(high) - float(low))
        # Rounding may reverse two equal values.
        assert change >= -1e-13 * float(low), f"from {low} to {high} at {arguments} with more {argument}"
        compared, strict = compared + 1, strict + (change > 0)
    assert compared >= 20 and strict >= 10, f"{strict} of {compared} points moved in the right direction"


def test_some_bounds_have_limits_and_least_values():
    for a in points("strongly_convex_value"):
        iterate = library("strongly_convex_iterate", **{k: a[k] for k in ("l", "big_g", "delta", "t")})
        check.close(library("strongly_convex_value", **a), a["big_l"] / 2.0 * iterate, "L/2 of the iterate's", 1e-15)
    for a in points("constant_step"):
        last = library("constant_step", **a | {"t": 2 ** 63})
        stays = (a["delta"] + a["step"] * (1.0 + a["delta"]) ** 2) / (2.0 * a["l"] - a["delta"]) * a["big_g"] ** 2
        check.close(last, stays, "the limit of a constant step", 1e-13)
        check.close(library("constant_step", **a | {"t": 1}), a["initial_distance_squared"] + stays, "its start", 1e-13)
    for a in points("convex_average"):
        best = a["diameter"] / (np.sqrt(2.0) * a["big_g"] * (1.0 + a["rho"] / np.sqrt(a["t"])))
        least, *others = (library("convex_average", **a | {"c": f * best}) for f in (1.0, 0.9, 1.1))
        assert least <= min(others) * (1.0 + 1e-13), f"c = {best} is not the best at {a}"
    for a in points("nonconvex_gradient"):
        four, one = (library("nonconvex_gradient", **a | {"t": t}) for t in (400, 100))
        check.close(four, one / 2.0, "four times the steps", 1e-15)
    # Constant errors: the gap tends to δ²/(2l), from above or from below, without passing it.
    for gap, sign in ((5.0, -1.0), (0.0, 1.0)):
        gaps = [library("linear", l=0.5, big_l=2.0, deltas=[1.5] * n, t=n + 1, initial_gap=gap) for n in range(200)]
        assert np.all(sign * np.diff(gaps[:50]) > 0.0), gaps
        check.close(gaps[-1], 1.5 ** 2 / (2.0 * 0.5), "the gap that errors leave", 1e-12)


# Arguments that meet all conditions, and for each condition values that do not, with a part of the message.
STRONGLY = {"l": 0.5, "big_g": 2.0, "delta": 0.125, "t": 10}
DELTA = ("delta", [-1e-300, nan, inf, -inf, 0.5, 0.6], "0 <= delta < l = 0.5 does not hold")
COUNT = ("t", [0], "t = 0: t >= 1 does not hold")


def positive(name):
    return name, [0.0, -0.0, -1.0, nan, inf, -inf], f"0 < {name} < infinity does not hold"


def not_negative(name):
    return name, [-1e-300, nan, inf, -inf], f"0 <= {name} < infinity does not hold"


EPSILON = ("epsilon", [0.0, -0.5, nan, inf, 1.0 + 1e-15], "0 < epsilon <= 1 does not hold")
SIZE = ("sample_size", [0], "sample_size = 0: sample_size >= 1 does not hold")
CONDITIONS = {
    "strongly_convex_iterate": (STRONGLY, [positive("l"), positive("big_g"), DELTA, COUNT]),
    "strongly_convex_average": (STRONGLY, [positive("l"), positive("big_g"), DELTA, COUNT]),
    "strongly_convex_value": (
        {"l": 0.5, "big_l": 0.5} | STRONGLY,
        [positive("l"), positive("big_l"), positive("big_g"), DELTA, COUNT,
         ("big_l", [0.49], "l = 0.5: l <= big_l = 0.49 does not hold")]),
    "constant_step": (
        {"l": 0.5, "big_g": 2.0, "delta": 0.125, "step": 1.0, "t": 10, "initial_distance_squared": 0.0},
        [positive("l"), positive("big_g"), DELTA, COUNT, positive("step"), not_negative("initial_distance_squared"),
         ("step", [1.0 / 0.875, 2.0, 1e300], "step < 1/(2 l - delta) = 1.142857142857142")]),
    "convex_average": (
        {"big_g": 2.0, "diameter": 1.0, "rho": 0.0, "c": 0.5, "t": 4},
        [positive("big_g"), positive("diameter"), not_negative("rho"), positive("c"), COUNT]),
    "nonconvex_gradient": (
        {"big_l": 1.0, "big_g": 2.0, "d_f": 3.0, "delta": 0.5, "t": 4},
        [positive("big_l"), positive("big_g"), positive("d_f"), COUNT,
         ("delta", [-1e-300, nan, inf, -inf, 1.0, 1.5], "0 <= delta < 1 does not hold")]),
    "linear": (
        {"l": 0.5, "big_l": 2.0, "deltas": [0.0, 1.0], "t": 3, "initial_gap": 0.0},
        [positive("l"), positive("big_l"), COUNT, not_negative("initial_gap"),
         ("big_l", [0.5, 0.4], "l = 0.5: l < big_l = 0."),
         ("deltas", [[0.0, -1e-300], [1.0, nan], [0.0, inf]], "deltas[1] = "),
         ("deltas", [[-1.0, 1.0]], "deltas[0] = -1 is not a finite number >= 0")]),
    "sample_size": ({"tau": 0.1, "c": 2.0, "t": 10, "epsilon": 1.0}, [positive("tau"), positive("c"), COUNT, EPSILON,
                                                                    ("tau", [1e-16, 5e-324], "too large")]),
    "sample_epsilon": ({"tau": 0.1, "c": 2.0, "t": 10, "sample_size": 1},
                       [positive("tau"), positive("c"), COUNT, SIZE]),
    "sample_delta": (
        {"deltas": [0.1, 0.2], "cs": [2.0, 2.0], "taus": [0.1, 0.2], "t": 10, "epsilon": 0.5, "sample_size": 30},
        [COUNT, EPSILON, SIZE, ("sample_size", [1, 18], "too few draws even for deltas[1] = 0.2"),
         ("deltas", [[0.0, 0.2], [nan, 0.2], [-0.1, 0.2]], "0 < deltas[0] < infinity does not hold"),
         ("deltas", [[0.2, 0.2], [0.3, 0.2]], "deltas[1] = 0.2 is not above deltas[0]"),
         ("cs", [[2.0, 0.0], [2.0, nan], [2.0, inf]], "0 < cs[1] < infinity does not hold"),
         ("taus", [[0.0, 0.2], [nan, 0.2], [-0.1, 0.2]], "0 < taus[0] < infinity does not hold")]),
}


def conditions_are_checked_one_by_one(name):
    good, conditions = CONDITIONS[name]
    library(name, **good)
    for argument, values, fragment in conditions:
        for value in values:
            refused(name, good | {argument: value}, fragment)
    changed = {argument for argument, _, _ in conditions}
    assert changed == set(good), f"no condition on {set(good) - changed}"


def refused(name, arguments, fragment):
    out = blank(name)
    try:
        answer(name, arguments, out)
    except pl.InvalidArgumentError as error:
        assert fragment in str(error), f"{error} does not say {fragment!r}"
    else:
        raise AssertionError(f"{name} accepts {arguments}")
    assert out.tobytes() == blank(name).tobytes(), f"{name} failed and changed its out-parameter"


def test_a_bound_that_overflows_is_refused():
    for name, changes in (("strongly_convex_iterate", {"big_g": 1e200}), ("strongly_convex_average", {"big_g": 1e200}),
                          ("strongly_convex_value", {"big_l": 1e308}), ("convex_average", {"diameter": 1e200}),
                          ("constant_step", {"big_g": 1e200}), ("nonconvex_gradient", {"big_l": 1e308, "d_f": 1e10}),
                          ("linear", {"deltas": [0.0, 1e200]})):
        refused(name, CONDITIONS[name][0] | changes, "the bound is inf")


# Inverses.

def test_a_sample_size_is_the_least_that_suffices():
    for a in points("sample_size", 200):
        tail = {k: a[k] for k in ("tau", "c", "t")}
        n = int(library("sample_size", **a))
        assert library("sample_epsilon", **tail, sample_size=n) <= a["epsilon"], a
        if n > 1:
            assert library("sample_epsilon", **tail, sample_size=n - 1) > a["epsilon"], a
            exact = formula("sample_epsilon", **tail, sample_size=n - 1)
            assert exact > Decimal(a["epsilon"]), a


def test_a_sample_size_undoes_an_epsilon():
    """Every ε here is one for which log(TC/ε)/τ is an integer except for rounding."""
    rng = np.random.default_rng(7)
    whole = 0
    for a in points("sample_epsilon", 2000):
        a |= {"sample_size": 1 + int(rng.uniform(0.0, 300.0) / a["tau"])}
        epsilon = float(library("sample_epsilon", **a))
        if epsilon < 1.0:
            found = int(library("sample_size", tau=a["tau"], c=a["c"], t=a["t"], epsilon=epsilon))
            assert found == a["sample_size"], f"{found} draws for the epsilon of {a}"
            whole += 1
    assert whole > 1000


def test_an_epsilon_undoes_a_sample_size():
    """Up to the draw that rounding up adds."""
    for a in points("sample_size", 200):
        n = int(library("sample_size", **a))
        epsilon = float(library("sample_epsilon", tau=a["tau"], c=a["c"], t=a["t"], sample_size=n))
        if n > 1:
            assert a["epsilon"] * np.exp(-a["tau"]) * (1.0 - 1e-12) < epsilon <= a["epsilon"], a


def test_a_delta_is_where_a_sample_size_begins_to_suffice():
    """τ = δ²/10, as for a mean of draws: the N of a fit reaches its δ, and one draw less does not."""
    deltas = [0.05, 0.1, 0.2, 0.4, 0.8]
    fits = {"deltas": deltas, "cs": [2.0] * 5, "taus": [d * d / 10.0 for d in deltas]}
    for t in (1, 10, 1000):
        for epsilon in (1.0, 0.1, 1e-6):
            def delta(n):
                return library("sample_delta", **fits, t=t, epsilon=epsilon, sample_size=int(n))

            for i, tau in enumerate(fits["taus"]):
                n = library("sample_size", tau=tau, c=2.0, t=t, epsilon=epsilon)
                if i > 0:
                    assert deltas[i - 1] < delta(n) <= deltas[i], (t, epsilon, i)
                if i + 1 < len(deltas) and n > 1:
                    assert deltas[i] < delta(n - 1) < deltas[i + 1], (t, epsilon, i)
            enough = int(library("sample_size", tau=fits["taus"][0], c=2.0, t=t, epsilon=epsilon))
            assert delta(enough) == delta(100 * enough) == delta(2 ** 63) == deltas[0]


def test_a_delta_and_a_sample_size_agree_where_rounding_decides():
    """A δ whose ε is that of N to the last bit is reached with N draws, and not with one less."""
    met = 0
    for a in points("sample_epsilon", 500):
        n = a["sample_size"] // 2 + 1
        tail = {"tau": a["tau"], "c": a["c"], "t": a["t"]}
        epsilon = float(library("sample_epsilon", **tail, sample_size=n))
        if 0.0 < epsilon < 1.0 and n > 1:
            fit = {"deltas": [0.5], "cs": [a["c"]], "taus": [a["tau"]], "t": a["t"], "epsilon": epsilon}
            assert library("sample_delta", **fit, sample_size=n) == 0.5, a
            refused("sample_delta", fit | {"sample_size": n - 1}, "too few draws")
            met += 1
    assert met > 100


def test_a_delta_lies_above_every_fit_that_does_not_hold():
    """Fits are noisy: here the second requires more draws than the first and the third."""
    fits = {"deltas": [0.1, 0.2, 0.4], "cs": [1.0, 1.0, 1.0], "taus": [0.2, 0.1, 0.4]}
    found = library("sample_delta", **fits, t=1, epsilon=float(np.exp(-2.0)), sample_size=15)
    # Margins 1, -1/2 and 4: 0 lies a ninth of the way from the second to the third.
    check.close(found, 0.2 + 0.2 / 9.0, "noisy fits", 1e-14)
    check.same(library("sample_delta", **fits, t=1, epsilon=float(np.exp(-2.0)), sample_size=21), 0.1, "all hold")


# The theorems against runs of SGD.

def run(step, schedule, start, updates, gradient, box=None):
    """The iterates w_1 … w_{T+1} of `updates` = T steps, and the average of the first T."""
    visited = []

    def oracle(k, w):
        visited.append(w)
        return gradient(k, w)

    with pl.Optimizer.sgd(step, schedule=schedule, box=box) as optimizer:
        found = optimizer.minimize(oracle, start, updates)
    return np.array(visited + [found.w]), found.average


def kinked(l, s):
    """The gradient of f(w) = (l/2)w² + s·max(w, 0), whose minimum is at 0 and has subgradients from 0 to s."""
    return lambda w: l * w + np.where(w > 0.0, s, 0.0)


def second_iterate(l, s, start, delta):
    """‖w_2‖², and the smallest G for w_1, w_2 and the interval between them. The first gradient is too long by δ, which is the
    worst error that δ allows."""
    h = kinked(l, s)
    w = run(1.0 / (l - delta), "inverse", [start], 1, lambda k, w: (1.0 + delta) * h(w))[0]
    return w[1, 0] ** 2, float(np.max(np.abs(h(w))))


def test_the_second_iterate_comes_arbitrarily_near_to_its_bound():
    """f = (l/2)w² + s·max(w, 0), δ = 0. From any w_1 > 0 the step 1/l leads to w_2 = -s/l, and G is the norm at w_1,
    s + l·w_1. So ‖w_2‖² is the share (s/G)² = 1/(1 + l·w_1/s)² of the bound G²/l², which tends to 1 as w_1 tends to 0. The
    paper prints G²/(2l²) for T = 2, which is exceeded if l·w_1 < (√2 - 1)s.

    With δ > 0 there is no such example: strong convexity implies l‖w_2‖ <= ‖h_2‖ <= G, and the bound is above G²/l².
    """
    for l, s in ((1.0, 1.0), (0.25, 3.0), (40.0, 0.5)):
        ratios = []
        for part in (1.0, 0.42, 0.41, 0.1, 1e-2, 1e-4, 1e-8, 1e-12):
            found, big_g = second_iterate(l, s, part * s / l, 0.0)
            bound = library("strongly_convex_iterate", l=l, big_g=big_g, delta=0.0, t=2)
            printed = big_g ** 2 / (2.0 * l ** 2)
            assert found <= bound * (1.0 + 1e-15)
            assert (found > printed) == (part < np.sqrt(2.0) - 1.0), f"{found} beside {printed} at {part}"
            check.close(found / bound, (1.0 + part) ** -2.0, "second iterate", 1e-12)
            ratios.append(found / bound)
        assert np.all(np.diff(ratios) > 0.0) and 1.0 - 1e-11 < ratios[-1] <= 1.0, ratios


def test_the_second_iterate_with_errors_exceeds_the_printed_bound_and_not_ours():
    """G is now the norm at w_2, l·(1+δ)s/(l-δ), so ‖w_2‖² = G²/l². For small δ this is more than the printed bound."""
    for delta, exceeds in ((0.01, True), (0.05, True), (0.1, True), (0.3, False), (0.9, False)):
        found, big_g = second_iterate(1.0, 1.0, 1e-9, delta)
        printed = big_g ** 2 * ((1.0 + delta) ** 2 / (2.0 * (1.0 - delta) ** 2) + delta / (1.0 - delta))
        check.close(found, big_g ** 2, "second iterate with errors", 1e-8)
        assert found <= library("strongly_convex_iterate", l=1.0, big_g=big_g, delta=delta, t=2)
        assert (found > printed) == exceeds, f"{found} beside {printed} at {delta}"


def test_kinked_objectives_stay_under_the_bounds_at_every_step():
    """Random relative errors of ±δ and 0. G is the largest norm of the run."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        l, s, steps = log_uniform(rng, -1, 1), log_uniform(rng, -2, 2), 40
        delta, h = l * rng.uniform(0.0, 0.6), kinked(l, s)
        errors = rng.choice([-1.0, 0.0, 1.0], steps + 1) * delta
        start = rng.choice([1.0, -1.0, 1e-6]) * s / l
        f = lambda w: 0.5 * l * w * w + s * np.maximum(w, 0.0)
        wrong = lambda k, w: (1.0 + errors[k]) * h(w)
        w = run(1.0 / (l - delta), "inverse", [start], steps, wrong)[0][:, 0]
        big_g = np.abs(h(w))
        for t in range(1, steps + 1):
            a = {"l": l, "big_g": float(np.max(big_g[:t])), "delta": delta, "t": t}
            assert w[t - 1] ** 2 <= library("strongly_convex_iterate", **a) * (1.0 + 1e-12), a
            assert f(np.mean(w[:t])) <= library("strongly_convex_average", **a) * (1.0 + 1e-12), a
        step = rng.uniform(0.05, 0.95) / (2.0 * l - delta)
        w = run(step, "constant", [start], steps, wrong)[0][:, 0]
        big_g = np.abs(h(w))
        for t in range(1, steps + 1):
            a = {"l": l, "big_g": float(np.max(big_g[:t])), "delta": delta, "step": step, "t": t,
                 "initial_distance_squared": start ** 2}
            assert w[t - 1] ** 2 <= library("constant_step", **a) * (1.0 + 1e-12), a


def test_quadratic_objectives_stay_under_the_bound_with_absolute_errors():
    rng = np.random.default_rng(12)
    for _ in range(40):
        curvature = np.sort(10.0 ** rng.uniform(-2, 1, 5))
        l, big_l, steps = float(curvature[0]), float(curvature[-1]), 30
        errors = rng.uniform(0.0, 1.0) * 0.9 ** np.arange(steps)

        def gradient(k, w):
            # The error that slows the descent most points backwards.
            h = curvature * w
            return h - errors[k - 1] * h / np.linalg.norm(h)

        w = run(1.0 / big_l, "constant", rng.normal(size=5), steps, gradient)[0]
        gaps = 0.5 * w ** 2 @ curvature
        for t in range(1, steps + 1):
            a = {"l": l, "big_l": big_l, "deltas": errors[:t - 1].tolist(), "t": t, "initial_gap": float(gaps[0])}
            assert gaps[t - 1] <= library("linear", **a) * (1.0 + 1e-12), a


def test_the_sum_behind_theorem_5_is_below_twice_the_root_and_not_below_the_printed_one():
    """Σ_{k<=T} 1/√k against √(T+1), which is larger according to the paper's proof, and against 2√T - 1."""
    total = Decimal(0)
    for t in range(1, 2001):
        t = Decimal(t)
        total += 1 / t.sqrt()
        assert (total <= (t + 1).sqrt()) == (t < 3), f"T = {t}"
        assert total <= 2 * t.sqrt() - 1, f"T = {t}"
        # By induction for all T: 2√T - 1 is 1 at T = 1, and grows faster than the sum.
        assert 2 * ((t + 1).sqrt() - t.sqrt()) > 1 / (t + 1).sqrt()


def printed_convex_average(big_g, diameter, rho, c, t):
    along = rho + c * (1 + rho / np.sqrt(t)) ** 2 * np.sqrt(1 + 1 / t)
    return ((1 / c + rho) * diameter ** 2 + big_g ** 2 * along) / (2 * np.sqrt(t))


def bouncing(bounces, fresh):
    """The value at an average of T = `bounces` + `fresh` exact steps, and the constants of its theorem.

    f(w) = max(|v - 1|, w_5, …) in the box [0, 1]^(4 + fresh), where v = (w_1 + w_2 + w_3 + w_4)/2 is in [0, 2]. All
    gradients have norm 1; f* = 0 at v = 1 and zeros. At the start, all ones, every piece is 1. While the steps are 2 or
    longer, the gradient is that of |v - 1|: each step moves v from one corner to the opposite one, where the piece is 1
    again. After that, each step uses a coordinate that has not moved yet. The last one is 1 in all of w_1 … w_T, and so is
    f of their average.
    """
    def gradient(k, w):
        g = np.zeros(4 + fresh)
        value = abs(w[:4].sum() / 2.0 - 1.0)
        if k <= bounces:
            g[:4] = 0.5 * np.sign(w[:4].sum() / 2.0 - 1.0)
        else:
            g[4 + k - bounces - 1] = 1.0
            value = w[4 + k - bounces - 1]
        # This is the gradient of a piece that attains the maximum.
        assert value == max(abs(w[:4].sum() / 2.0 - 1.0), *w[4:]) == 1.0 and np.linalg.norm(g) == 1.0
        return g

    t = bounces + fresh
    c = 2.0 * np.sqrt(bounces) * (1.0 + 1e-15)
    average = run(c, "inverse_sqrt", np.ones(4 + fresh), t, gradient, box=(0.0, 1.0))[1]
    value = max(abs(average[:4].sum() / 2.0 - 1.0), *average[4:])
    return value, {"big_g": 1.0, "diameter": float(np.sqrt(4.0 + fresh)), "rho": 0.0, "c": float(c), "t": t}


def test_an_average_exceeds_the_printed_theorem_5_and_not_our_bound():
    """With n bounces and 2n - 4 fresh coordinates, the ratio to the printed bound tends to 2/√3 = 1.15 as n grows."""
    excess = []
    for bounces, fresh in ((8, 10), (10, 16), (30, 56), (100, 196), (400, 796)):
        value, constants = bouncing(bounces, fresh)
        assert abs(value - 1.0) < 1e-12
        assert value <= library("convex_average", **constants), constants
        excess.append(value / printed_convex_average(**constants))
        # Also with ρ > 0, as the theorem requires; exact gradients satisfy it.
        assert value > printed_convex_average(**constants | {"rho": 1e-3}), constants
    assert excess[0] > 1.0 and np.all(np.diff(excess) > 0.0) and 1.14 < excess[-1] < 2.0 / np.sqrt(3.0), excess


def tests():
    for name in FORMULAS:
        yield check.about(the_library_evaluates_the_formula, name, name)
    for name, arguments in MONOTONE.items():
        for argument, sign in arguments.items():
            yield check.about(the_result_moves_in_the_right_direction, f"{name} in {argument}", name, argument, sign)
    for name in CONDITIONS:
        yield check.about(conditions_are_checked_one_by_one, name, name)
    yield from check.named(globals())


if __name__ == "__main__":
    sys.exit(check.run(tests()))
