"""The training step as loops that Numba compiles, as a careful user would write it without Plimsoll. One thread.

The functions are at module level, so that Numba caches the machine code (NUMBA_CACHE_DIR) and a process starts in a second.
Random numbers come from SplitMix64, or from NumPy's Mersenne twister (`twister`), which makes sampled steps up to 50 % slower.
"""
import numba as nb
import numpy as np

f32 = np.float32
jit = nb.njit(fastmath=True, cache=True)


@jit
def below(state, n, twister):
    """An integer in 0 .. n; `state` is one uint64."""
    if twister:
        return np.int64(np.random.randint(0, n))
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@jit
def gather(ip, ix, v, out, n_out, t, n, mark, cnt, stamp, lid, er, el, ew, nodes, state, twister):
    scale = f32(1.0)
    if t > 0:
        scale = f32(n / t)
        for _ in range(t):
            u = below(state, n, twister)
            if mark[u] != stamp:
                mark[u] = stamp
                cnt[u] = 0
            cnt[u] += 1
    ne, nu = 0, 0
    for i in range(n_out):
        for p in range(ip[out[i]], ip[out[i] + 1]):
            c = ix[p]
            if t > 0 and mark[c] != stamp:
                continue
            if lid[c] < 0:
                lid[c] = nu
                nodes[nu] = c
                nu += 1
            er[ne], el[ne] = i, lid[c]
            ew[ne] = v[p] * scale * (cnt[c] if t > 0 else 1)
            ne += 1
    for i in range(nu):
        lid[nodes[i]] = -1
    return ne, nu


@jit
def rows_times(xip, xix, xv, nodes, nu, w, o):
    for i in range(nu):
        for j in range(w.shape[1]):
            o[i, j] = 0
        for p in range(xip[nodes[i]], xip[nodes[i] + 1]):
            a, k = xv[p], xix[p]
            for j in range(w.shape[1]):
                o[i, j] += a * w[k, j]


@jit
def rows_outer(xip, xix, xv, nodes, nu, d, g):
    for i in range(nu):
        for p in range(xip[nodes[i]], xip[nodes[i] + 1]):
            a, k = xv[p], xix[p]
            for j in range(g.shape[1]):
                g[k, j] += a * d[i, j]


@jit
def spmm(er, el, ew, ne, n_out, h, z):
    for i in range(n_out):
        for j in range(z.shape[1]):
            z[i, j] = 0
    for e in range(ne):
        a, r, l = ew[e], er[e], el[e]
        for j in range(z.shape[1]):
            z[r, j] += a * h[l, j]


@jit
def softmax_gradient(z, s, b, y):
    loss = f32(0)
    for i in range(s):
        m = z[i, 0]
        for j in range(1, z.shape[1]):
            m = max(m, z[i, j])
        t = f32(0)
        for j in range(z.shape[1]):
            z[i, j] = np.exp(z[i, j] - m)
            t += z[i, j]
        for j in range(z.shape[1]):
            z[i, j] /= t
        loss -= np.log(z[i, y[b[i]]] + f32(1e-30))
        z[i, y[b[i]]] -= 1
        for j in range(z.shape[1]):
            z[i, j] /= s
    return loss / s


@jit
def update(w, g, lr, k):
    a = f32(lr / np.sqrt(k))
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            w[i, j] -= a * g[i, j]
            g[i, j] = 0


@jit
def run(train, bs, t, two, twister, ip, ix, v, xip, xix, xv, cip, cix, cv, y, w0, w1, g0, g1, st, state, mark, cnt,
        lid, n1, er, el, ew, a1, b1, d1, z, mm, lr):
    """An epoch: the adjacency is (ip, ix, v), X is (xip, xix, xv), ÂX is (cip, cix, cv)."""
    n = len(ip) - 1
    loss = f32(0)
    for i in range(len(train) - 1, 0, -1):
        j = below(state, i + 1, twister)
        train[i], train[j] = train[j], train[i]
    for s0 in range(0, len(train), bs):
        b = train[s0:s0 + bs]
        s = len(b)
        st[0] += 1
        if not two:
            if t == 0:
                rows_times(cip, cix, cv, b, s, w0, z)
                loss = softmax_gradient(z, s, b, y)
                rows_outer(cip, cix, cv, b, s, z, g0)
            else:
                ne, nu = gather(ip, ix, v, b, s, t, n, mark, cnt, st[0], lid, er, el, ew, n1, state, twister)
                rows_times(xip, xix, xv, n1, nu, w0, a1)
                spmm(er, el, ew, ne, s, a1, z)
                loss = softmax_gradient(z, s, b, y)
                spmm(el, er, ew, ne, nu, z, d1)
                rows_outer(xip, xix, xv, n1, nu, d1, g0)
        else:
            ne, nu = gather(ip, ix, v, b, s, t, n, mark, cnt, st[0], lid, er, el, ew, n1, state, twister)
            rows_times(cip, cix, cv, n1, nu, w0, a1)
            for i in range(nu):
                for j in range(a1.shape[1]):
                    b1[i, j] = max(a1[i, j], f32(0))
            spmm(er, el, ew, ne, s, b1, mm)
            for i in range(s):
                for q in range(w1.shape[1]):
                    acc = f32(0)
                    for j in range(w1.shape[0]):
                        acc += mm[i, j] * w1[j, q]
                    z[i, q] = acc
            loss = softmax_gradient(z, s, b, y)
            for i in range(s):
                for j in range(w1.shape[0]):
                    acc = f32(0)
                    for q in range(w1.shape[1]):
                        g1[j, q] += mm[i, j] * z[i, q]
                        acc += z[i, q] * w1[j, q]
                    mm[i, j] = acc
            spmm(el, er, ew, ne, nu, mm, d1)
            for i in range(nu):
                for j in range(a1.shape[1]):
                    if a1[i, j] <= 0:
                        d1[i, j] = 0
            rows_outer(cip, cix, cv, n1, nu, d1, g0)
        st[1] += 1
        update(w0, g0, lr, st[1])
        if two:
            update(w1, g1, lr, st[1])
    return loss


def epochs(a, x, ax, labels, train, weights, layers, sample, batch_size, lr, twister):
    """A function that runs one epoch and returns the loss of its last batch."""
    two = layers == 2
    zeros = lambda *shape: np.zeros(shape, f32)
    ints = lambda count: np.zeros(count, np.int32)
    csr = lambda m: (m.indptr.astype(np.int32), m.indices.astype(np.int32), m.data.astype(f32))
    n, nnz, width, classes = a.shape[0], a.nnz, weights[0].shape[1], weights[-1].shape[1]
    w0, w1 = weights[0], weights[1] if two else zeros(1, 1)
    train = train.astype(np.int32)
    work = [zeros(*w0.shape), zeros(*w1.shape), np.zeros(2, np.int64), np.ones(1, np.uint64), np.full(n, -1), ints(n),
            np.full(n, -1, np.int32), ints(n), ints(nnz), ints(nnz), zeros(nnz), zeros(n, width), zeros(n, width),
            zeros(n, width), zeros(batch_size, classes), zeros(batch_size, width)]
    fixed = (*csr(a), *csr(x), *csr(ax), labels.astype(np.int32), w0, w1, *work, float(lr))
    return lambda: run(train, batch_size, sample or 0, two, twister, *fixed)
