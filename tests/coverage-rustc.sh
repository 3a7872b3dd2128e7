#!/bin/sh
# The RUSTC_WORKSPACE_WRAPPER of `make coverage`: this crate and its tests have counters, the crates they need have none.
exec "$@" -Cinstrument-coverage
