#!/usr/bin/env python3
"""The product Â·X by other libraries, and whole-graph inference of a 2-layer GCN.

    peer_spmm.py mkl|torch DIRECTORY --threads 1 --repetitions 5 --widths 16 64
    peer_spmm.py infer-torch|infer-pyg DIRECTORY --threads 1 --repetitions 3 --hidden 64 --classes 16

`compare.py spmm` writes DIRECTORY. mkl: the inspector-executor mkl_sparse_s_mm, row-major, with a hint and
mkl_sparse_optimize; torch: a CSR tensor @ a dense one. Inference is softmax(Â(relu(Â(X W0)) W1)), in the order
with the narrowest products with Â; pyg uses GCNConv on a CSR adjacency. Prints one JSON line.
"""
import argparse
import ctypes
import glob
import json
import os
import sys
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("engine", choices=["mkl", "torch", "infer-torch", "infer-pyg"])
parser.add_argument("directory")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--repetitions", type=int, default=3)
parser.add_argument("--widths", type=int, nargs="+", default=[16, 64])
parser.add_argument("--hidden", type=int, default=64)
parser.add_argument("--classes", type=int, default=16)
args = parser.parse_args()
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = str(args.threads)
import numpy as np

def read(name):
    return np.load(os.path.join(args.directory, f"{name}.npy"))


INDPTR, INDICES, VALUES = read("indptr"), read("indices"), read("values")
N = len(INDPTR) - 1


def dense(width):
    i, j = np.arange(N, dtype=np.int64)[:, None], np.arange(width, dtype=np.int64)[None, :]
    return (((i * 31 + j * 17) % 64).astype(np.float32) / np.float32(64))


def repeat(call):
    """Seconds of each call after the first."""
    seconds = []
    for _ in range(args.repetitions + 1):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def answer(results):
    print(json.dumps(dict(engine=args.engine, threads=args.threads, widths=results)))


def checksum(out):
    return float(out.ravel()[::997].astype(np.float64).sum())


class Description(ctypes.Structure):
    """MKL's matrix_descr: a general matrix."""
    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


def run_mkl():
    mkl = ctypes.CDLL(sorted(glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*")))[-1], mode=ctypes.RTLD_GLOBAL)
    mkl.MKL_Set_Num_Threads(ctypes.c_int(args.threads))
    pointer = lambda a: ctypes.c_void_p(a.ctypes.data)
    none, row_major, general = 10, 101, Description(20, 40, 50)
    indptr = INDPTR.astype(np.int32)
    results = {}

    def check(status):
        if status:
            raise SystemExit(f"MKL answers {status}")
    for width in args.widths:
        matrix, x, out = ctypes.c_void_p(), dense(width), np.zeros((N, width), np.float32)
        check(mkl.mkl_sparse_s_create_csr(ctypes.byref(matrix), 0, N, N, pointer(indptr),
                                          ctypes.c_void_p(indptr.ctypes.data + 4), pointer(INDICES), pointer(VALUES)))
        check(mkl.mkl_sparse_set_mm_hint(matrix, none, general, row_major, width, 1000))
        check(mkl.mkl_sparse_optimize(matrix))
        seconds = repeat(lambda: check(mkl.mkl_sparse_s_mm(
            none, ctypes.c_float(1), matrix, general, row_major, pointer(x), width, width, ctypes.c_float(0),
            pointer(out), width)))
        results[width] = dict(seconds=float(np.median(seconds[1:])), checksum=checksum(out))
        check(mkl.mkl_sparse_destroy(matrix))
    answer(results)


def torch_matrix():
    import warnings
    warnings.filterwarnings("ignore")
    import torch
    torch.set_num_threads(args.threads)
    tensors = map(torch.from_numpy, (INDPTR, INDICES.astype(np.int64), VALUES))
    return torch, torch.sparse_csr_tensor(*tensors, size=(N, N))


def run_torch():
    torch, a = torch_matrix()
    results = {}
    for width in args.widths:
        x, out = torch.from_numpy(dense(width)), {}
        seconds = repeat(lambda: out.update(product=a @ x))
        results[width] = dict(seconds=float(np.median(seconds[1:])), checksum=checksum(out["product"].numpy()))
    answer(results)


def run_inference():
    torch, a = torch_matrix()
    x = torch.from_numpy(read("features"))
    widths = [x.shape[1], args.hidden, args.classes]
    if args.engine == "infer-pyg":
        from torch_geometric.nn import GCNConv
        convs = [GCNConv(p, q, normalize=False, bias=False) for p, q in zip(widths, widths[1:])]
        forward = lambda: convs[1](convs[0](x, a).relu(), a).softmax(1)
    else:
        w0, w1 = (torch.randn(p, q) / p ** 0.5 for p, q in zip(widths, widths[1:]))
        forward = lambda: (a @ ((a @ (x @ w0)).relu() @ w1)).softmax(1)
    with torch.no_grad():
        seconds = repeat(forward)
    print(json.dumps(dict(engine=args.engine, threads=args.threads, first_s=seconds[0],
                          median_s=float(np.median(seconds[1:])))))


if __name__ == "__main__":
    {"mkl": run_mkl, "torch": run_torch}.get(args.engine, run_inference)()
