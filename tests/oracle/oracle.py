"""Graph convolutional networks in SciPy and float64: plain, slow, and one formula per line. It shares no code with the library.

Letters: A adjacency, Â normalised, X features, W parameters, I_l the nodes at the input of layer l, P the distribution
they are drawn from, t their number.
"""
import numpy as np
import scipy.sparse as sp

# The names that the library's Python package uses.
NORMALIZATIONS = SYMMETRIC, ROW, NONE = "symmetric", "row", "none"
DISTRIBUTIONS = UNIFORM, IMPORTANCE, NEIGHBORS, LADIES = "uniform", "importance", "neighbors", "ladies"


def adjacency_of_edges(n, edges, weights=None):
    """A of undirected edges. Repeated ones merge and their weights add up; a self-loop counts once on the diagonal."""
    total = {}
    for k, (u, v) in enumerate(np.asarray(edges).tolist()):
        weight = 1.0 if weights is None else float(weights[k])
        for place in {(u, v), (v, u)}:
            total[place] = 1.0 if weights is None else total.get(place, 0.0) + weight
    return of_places(n, total)


def adjacency_of_csr(n, indptr, indices, values=None):
    """A as given. Repeated entries merge."""
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
    # Entry by entry: SciPy's sums and products of matrices drop entries of weight 0, which are edges too.
    a = a.tocoo()
    places = np.concatenate([a.row, diagonal]), np.concatenate([a.col, diagonal])
    a = sp.coo_matrix((np.concatenate([a.data, np.ones(n)]), places), shape=(n, n))
    a.sum_duplicates()
    d = np.asarray(a.sum(1)).ravel()
    scaled = a.data / d[a.row] if normalization == ROW else a.data / np.sqrt(d[a.row] * d[a.col])
    return sp.csr_matrix((scaled, (a.row, a.col)), shape=(n, n))


def normalize_rows(x):
    """Each row of X divided by its sum. A row that sums to 0 stays as it is."""
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
    """P over all n nodes, given the rows above. `distribution` is one of DISTRIBUTIONS, or an array of weights."""
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
    """Â(I_{l+1}, I_l)·diag(1/(t_l P)) of every layer l, and I_0. If draws[l] is None, I_l is all nodes, without weights.

    Draws that no row above is linked to stay, as columns of zeros. They are not among the rows for the distribution below.
    """
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


def backpropagate(ops, h, labels, weights, lam=0.0):
    """Mean cross-entropy plus λ/2 ‖W‖², and its gradient as one vector, of a network whose layer l multiplies by ops[l].

    `h` is the input of the first layer; `labels` are those of the rows of the last.
    """
    inputs, outputs = [], []
    for l, w in enumerate(weights):
        inputs.append(ops[l] @ h)
        outputs.append(np.asarray(inputs[l] @ w))
        h = np.maximum(outputs[l], 0.0) if l + 1 < len(weights) else outputs[l]
    loss = cross_entropy(h, labels) + 0.5 * lam * sum((w ** 2).sum() for w in weights)
    g = softmax(h)
    g[np.arange(len(labels)), labels] -= 1.0
    g /= len(labels)
    gradient = [None] * len(weights)
    for l in reversed(range(len(weights))):
        gradient[l] = np.asarray(inputs[l].T @ g) + lam * weights[l]
        if l:
            g = np.asarray(ops[l].T @ (g @ weights[l].T)) * (outputs[l - 1] > 0)
    return loss, flat(gradient)


def loss_and_gradient(a_hat, x, labels, weights, batch, draws=None, distribution=UNIFORM, lam=0.0):
    """The same of a batch of nodes, exact or from draws at the inputs of the layers."""
    ops, nodes = operators(a_hat, batch, draws or [None] * len(weights), distribution)
    return backpropagate(ops, x[nodes], labels[batch], weights, lam)


def flat(matrices):
    """Matrices as one vector, row after row."""
    return np.concatenate([np.asarray(m).ravel() for m in matrices])
