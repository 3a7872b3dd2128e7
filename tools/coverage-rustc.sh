#!/bin/sh
# The RUSTC_WORKSPACE_WRAPPER of `make coverage`: gives this crate and its tests counters, and no other crate.
exec "$@" -Cinstrument-coverage
