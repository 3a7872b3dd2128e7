"""Real documents: 5,000 of MSLR-WEB10K for training and as many for the test, from the PyPI package rankeval 0.8.2.

The project ships none of its data. PLIMSOLL_DATA names a directory that has the package's archive; with PLIMSOLL_FETCH=1 pip
downloads it, as its own configuration says, which takes a minute or two. Without either this is skipped.
"""
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

import plimsoll as pl
from support import check, need

ARCHIVE = "rankeval-0.8.2.tar.gz"
SHA256 = "c7d71602ab7fe0a0281976c1f0e883cb16431f72e4e946e5fd83790449bb21a9"
MEMBER = "rankeval-0.8.2/rankeval/test/data/msn1.fold1.{}.5k.txt"
FEATURES, REGULARIZATION = 136, 0.01


def fetch(folder):
    """The two texts, extracted into a folder."""
    found = Path(os.environ.get("PLIMSOLL_DATA", folder)) / ARCHIVE
    if not found.exists() and os.environ.get("PLIMSOLL_FETCH") == "1":
        found = Path(folder) / ARCHIVE
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "rankeval==0.8.2", "-d", folder]
        subprocess.run(command, check=True)
    if not found.exists():
        raise check.Skip(f"there is no {ARCHIVE} in PLIMSOLL_DATA; PLIMSOLL_FETCH=1 downloads it")
    digest = hashlib.sha256(found.read_bytes()).hexdigest()
    assert digest == SHA256, f"{found} has the checksum {digest}"
    paths = []
    with tarfile.open(found) as archive:
        for part in ("train", "test"):
            path = Path(folder) / f"{part}.txt"
            path.write_bytes(archive.extractfile(MEMBER.format(part)).read())
            paths.append(path)
    return paths


def standardized():
    """Training and test documents in one, as a program would make them of two files."""
    with tempfile.TemporaryDirectory() as folder:
        train, test = (pl.RankData.load(path, FEATURES) for path in fetch(folder))
        read = need("sklearn.datasets")[0].load_svmlight_files(
            [str(Path(folder) / f"{part}.txt") for part in ("train", "test")], n_features=FEATURES, query_id=True,
            zero_based=False)
    for data, (x, y, ids) in ((train, read[:3]), (test, read[3:])):
        check.same(data.relevance, y.astype(np.int32), "relevance")
        check.same(np.repeat(data.query_ids, np.diff(data.offsets)), ids.astype(np.int64), "queries")
    test.standardize(train)
    train.standardize()
    train.append(test, "test")
    return train, read


def pairs(features, relevance, offsets):
    """Differences of ranked pairs, weighted so that each query counts once."""
    differences, weights = [], []
    for a, b in zip(offsets[:-1], offsets[1:]):
        i, j = np.nonzero(relevance[a:b][:, None] > relevance[a:b][None, :])
        if len(i):
            differences.append(features[a + i] - features[a + j])
            weights.append(np.full(len(i), 1 / len(i)))
    weights = np.concatenate(weights)
    return np.concatenate(differences), weights / weights.sum()


def fitted(data, widths, estimator, optimizer, **options):
    model = pl.Model.gcn(widths, seed=1, regularization=REGULARIZATION)
    history = pl.train(model, data, estimator, optimizer, restore_best=False, **options)
    return model, history


def test_linear_and_hidden_scorers_rank_documents_of_a_search_engine():
    linear_model, preprocessing = need("sklearn.linear_model", "sklearn.preprocessing")
    data, read = standardized()
    print(repr(data))
    random = np.mean([data.evaluate(pl.Model.gcn([FEATURES, 1], seed=s), "test").ndcg for s in range(20)])

    scaler = preprocessing.StandardScaler().fit(read[0].toarray())
    features = scaler.transform(read[0].toarray()).astype(np.float32)
    count = len(data.train)
    x, weights = pairs(features, data.relevance[:len(features)], data.offsets[:count + 1])
    # The same objective: mean over queries of the mean over pairs, and λ/2 ‖w‖². Every other pair is turned round.
    turned = np.where(np.arange(len(x)) % 2 == 0, 1.0, -1.0).astype(np.float32)
    peer = linear_model.LogisticRegression(C=1 / REGULARIZATION, fit_intercept=False, max_iter=2000, tol=1e-6)
    peer.fit(x * turned[:, None], turned, sample_weight=weights)
    theirs = pl.Model.gcn([FEATURES, 1], regularization=REGULARIZATION)
    theirs.parameters = peer.coef_[0].astype(np.float32)

    runs = {
        "full": (pl.Estimator.full(), dict(epochs=600)),
        "separate, 16 + 16": (pl.Estimator.separate(16), dict(epochs=200, batch_size=8)),
        "self-normalised, 16 + 16": (pl.Estimator.separate(16, self_normalized=True), dict(epochs=200, batch_size=8)),
        "pairs, 64": (pl.Estimator.pairs(64), dict(epochs=200, batch_size=8)),
    }
    wanted, found = data.evaluate(theirs, "test"), {}
    best = pl.Estimator.full().gradient(theirs, data).loss
    print(f"random {random:.4f}; scikit-learn's logistic regression {wanted.ndcg:.4f}, objective {best:.5f}")
    for name, (estimator, options) in runs.items():
        # Draws leave the objective restless; steps that shrink bring it to rest.
        optimizer = pl.Optimizer.adam(0.01) if name == "full" else pl.Optimizer.adam(0.03, schedule="inverse_sqrt")
        model, _ = fitted(data, [FEATURES, 1], estimator, optimizer, **options)
        loss = pl.Estimator.full().gradient(model, data).loss
        found[name] = data.evaluate(model, "test")
        print(f"linear, {name}: NDCG@10 {found[name].ndcg:.4f}, accuracy {found[name].accuracy:.4f}, objective {loss:.5f}")
        assert loss < best + (0.001 if name == "full" else 0.01)
        assert abs(found[name].ndcg - wanted.ndcg) < 0.02
        assert found[name].ndcg > random + 0.08
    optimizer = pl.Optimizer.adam(0.01, schedule="inverse_sqrt")
    model, _ = fitted(data, [FEATURES, 16, 1], pl.Estimator.separate(16), optimizer, epochs=60, batch_size=8)
    hidden = data.evaluate(model, "test")
    print(f"one hidden layer of 16: NDCG@10 {hidden.ndcg:.4f}, accuracy {hidden.accuracy:.4f}")
    assert hidden.ndcg > random + 0.08


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
