"""Builds the wheel: the package, the shared library beside it, and what an installer wants to know.

    python3 backend.py target/wheels        prints the name of the wheel; `make wheel` does this
    pip install bindings/python             the same through pip (PEP 517)

It takes Python 3.11, or an older one with pip, and nothing else. The library is the one that PLIMSOLL_LIB names, or
target/release/libplimsoll.so.

The tag. The package is plain Python that opens the library by ctypes, so one wheel serves every Python 3:
py3-none-<platform>. The platform follows from what the library asks of the system: manylinux_2_X if it needs only
libraries that manylinux allows and no symbol of glibc later than 2.X, both as readelf finds them; else, or without
readelf, linux_<machine>, which pip installs but an index refuses.
"""
from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Of the libraries that PEP 600 lets a wheel take from the system, those that Rust's standard library may want.
ALLOWED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1"}


def library() -> Path:
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    path = Path(os.environ.get("PLIMSOLL_LIB") or target / "release" / "libplimsoll.so")
    if not path.exists():
        raise SystemExit(f"there is no {path}: run make first, or let PLIMSOLL_LIB name the library")
    return path


def platform_tag(path: Path) -> str:
    plain = re.sub(r"[-.]", "_", sysconfig.get_platform())
    readelf = shutil.which("readelf")
    if not plain.startswith("linux") or readelf is None:
        return plain
    text = subprocess.run([readelf, "-dVW", path], check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", text))
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", text)]
    if not versions or any(n not in ALLOWED and not n.startswith("ld-linux") for n in needed):
        return plain
    # 2.17 is the oldest glibc that a tag of this form is used for.
    major, minor = max(versions + [(2, 17)])[:2]
    return f"manylinux_{major}_{minor}_{platform.machine()}"


def stripped(path: Path) -> bytes:
    """The library without debug sections, if there is a strip."""
    strip = shutil.which("strip")
    if strip is None:
        return path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        subprocess.run([strip, "--strip-debug", "-o", copy, path], check=True)
        return copy.read_bytes()


def metadata(project: dict, version: str) -> str:
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}", f"License-Expression: {project['license']}",
             "License-File: LICENSE-MIT", "License-File: LICENSE-APACHE",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {need}" for need in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {need}; extra == "{extra}"' for need in needs]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / "docs" / "python.md").read_text(encoding="utf-8")]
    return "\n".join(lines)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]["version"]
    shared = library()
    tag = f"py3-none-{platform_tag(shared)}"
    info = f"plimsoll-{version}.dist-info"
    files = {f"plimsoll/{path.name}": path.read_bytes()
             for path in sorted((HERE / "plimsoll").iterdir()) if path.suffix in (".py", ".typed")}
    files[f"plimsoll/{shared.name}"] = stripped(shared)
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        files[f"{info}/licenses/{name}"] = (ROOT / name).read_bytes()
    files[f"{info}/METADATA"] = metadata(project, version).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: plimsoll\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    name = f"plimsoll-{version}-{tag}.whl"
    Path(wheel_directory).mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            # No date and the same mode: the same library makes the same wheel.
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o755 if path.endswith(shared.suffix) else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("there is no source distribution of the package alone: it lives in plimsoll's repository")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} FOLDER")
    print(Path(sys.argv[1]) / build_wheel(sys.argv[1]))
