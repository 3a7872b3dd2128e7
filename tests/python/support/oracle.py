"""Graph convolutional networks in SciPy and float64, plain: every line is a formula. Shares no code with the library.

Letters: A adjacency, Â normalised, X features, W parameters, I_l the nodes at the input of layer l, P the distribution
they are drawn from, t their number.
"""
import numpy as np
import scipy.sparse as sp

SYMMETRIC, ROW, NONE = 0, 1, 2
UNIFORM, IMPORTANCE, NEIGHBORS, LADIES = 0, 1, 2, 3


def adjacency_of_edges(n, edges, weights=None):
    """A of undirected edges: repeated ones merge, their weights add up; a self-loop counts once on the diagonal."""
    total = {}
    for k, (u, v) in enumerate(np.asarray(edges).tolist()):
        weight = 1.0 if weights is None else float(weights[k])
        for place in {(u, v), (v, u)}:
            total[place] = 1.0 if weights is None else total.get(place, 0.0) + weight
    return of_places(n, total)


def adjacency_of_csr(n, indptr, indices, values=None):
    """A as given; repeated entries merge."""
    total = {}
    for v in range(n):
        for at in range(indptr[v], indptr[v + 1]):
            place = (v, int(indices[at]))
            total[place] = 1.0 if values is None else total.get(place, 0.0) + float(values[at])
    return of_places(n, total)


def of_places(n, total):
    """A sparse matrix of {(row, column): value}. An edge of weight 0 stays an entry."""
    places = sorted(total)
    rows, columns = [p[0] for p in places], [p[1] for p in places]
    return sp.csr_matrix((np.array([total[p] for p in places], np.float64), (rows, columns)), shape=(n, n))


def normalize_adjacency(a, normalization=SYMMETRIC):
    """Â: D^-½(A + I)D^-½, D^-1(A + I), or A; D the row sums of A + I."""
    if normalization == NONE:
        return a.tocsr()
    n = a.shape[0]
    diagonal = np.arange(n)
    # Entry by entry, because SciPy's sums and products of matrices drop entries of weight 0, and those are edges too.
    a = a.tocoo()
    places = np.concatenate([a.row, diagonal]), np.concatenate([a.col, diagonal])
    a = sp.coo_matrix((np.concatenate([a.data, np.ones(n)]), places), shape=(n, n))
    a.sum_duplicates()
    d = np.asarray(a.sum(1)).ravel()
    scaled = a.data / d[a.row] if normalization == ROW else a.data / np.sqrt(d[a.row] * d[a.col])
    return sp.csr_matrix((scaled, (a.row, a.col)), shape=(n, n))


def normalize_rows(x):
    """Each row of X divided by its sum; one that sums to 0 stays."""
    s = np.asarray(x.sum(1)).ravel()
    s = np.where(s == 0, 1.0, s)
    return sp.csr_matrix(sp.diags(1.0 / s) @ x) if sp.issparse(x) else x / s[:, None]


def embed(a_hat, x, weights):
    """H(1) … H(L): ReLU after all layers but the last."""
    h, layers = x, []
    for l, w in enumerate(weights):
        h = np.asarray((a_hat @ h) @ w)
        h = np.maximum(h, 0.0) if l + 1 < len(weights) else h
        layers.append(h)
    return layers


def log_softmax(z):
    z = z - z.max(1, keepdims=True)
    return z - np.log(np.exp(z).sum(1, keepdims=True))


def softmax(z):
    return np.exp(log_softmax(z))


def cross_entropy(z, labels):
    return -np.mean(log_softmax(z)[np.arange(len(labels)), labels])


def squares_of_columns(a_hat):
    return np.asarray(a_hat.multiply(a_hat).sum(0)).ravel()


def probabilities(a_hat, rows, distribution):
    """P over all n nodes, given the rows above. `distribution` is one of the constants, or the caller's weights."""
    n = a_hat.shape[0]
    if isinstance(distribution, np.ndarray):
        mass = distribution
    elif distribution == UNIFORM:
        mass = np.ones(n)
    elif distribution == IMPORTANCE:
        mass = squares_of_columns(a_hat)
    elif distribution == NEIGHBORS:
        mass = np.zeros(n)
        mass[a_hat[rows].indices] = 1.0
    elif distribution == LADIES:
        mass = squares_of_columns(a_hat[rows])
    total = mass.sum()
    return mass / total if total > 0 else mass


def operators(a_hat, batch, draws, distribution=UNIFORM):
    """Â(I_{l+1}, I_l)·diag(1/(t_l P)) of every layer l, and I_0. draws[l] None: I_l is all nodes, and nothing is
    weighted. Draws that no row above is linked to are kept, and are columns of zeros; they are no rows for S below."""
    n = a_hat.shape[0]
    nodes, rows, result = np.asarray(batch), np.unique(batch), []
    for given in reversed(draws):
        block = a_hat[nodes]
        linked = np.unique(a_hat[rows].indices)
        if given is None:
            nodes, rows = np.arange(n), linked
        else:
            p = probabilities(a_hat, rows, distribution)
            scale = np.zeros(n)
            scale[p > 0] = 1.0 / (len(given) * p[p > 0])
            nodes, rows = np.asarray(given), np.intersect1d(linked, given)
            rows = rows[p[rows] > 0]
            block = block[:, nodes] @ sp.diags(scale[nodes])
        result.append(block.tocsr())
    return result[::-1], nodes


def loss_and_gradient(a_hat, x, labels, weights, batch, draws=None, distribution=UNIFORM, lam=0.0):
    """Mean cross-entropy over the batch plus λ/2 ‖W‖², and its gradient as one vector."""
    num_layers = len(weights)
    ops, nodes = operators(a_hat, batch, draws or [None] * num_layers, distribution)
    h, inputs, outputs = x[nodes], [], []
    for l, w in enumerate(weights):
        inputs.append(ops[l] @ h)
        outputs.append(np.asarray(inputs[l] @ w))
        h = np.maximum(outputs[l], 0.0) if l + 1 < num_layers else outputs[l]
    y = labels[batch]
    loss = cross_entropy(h, y) + 0.5 * lam * sum((w ** 2).sum() for w in weights)
    g = softmax(h)
    g[np.arange(len(y)), y] -= 1.0
    g /= len(y)
    gradient = [None] * num_layers
    for l in reversed(range(num_layers)):
        gradient[l] = np.asarray(inputs[l].T @ g) + lam * weights[l]
        if l:
            g = np.asarray(ops[l].T @ (g @ weights[l].T)) * (outputs[l - 1] > 0)
    return loss, np.concatenate([gl.ravel() for gl in gradient])
