//! The C interface: one thin file per noun. Each function borrows its arguments, calls safe code and writes the result.
//!
//! [`ptr`] is the only module that turns raw pointers into references, [`guard`] the only one that catches panics.
//! [`body`] has what several functions do alike. [`handle`] holds the table of live handles, [`constant`] translates the numbers of C constants, [`status`] holds the
//! status numbers and the message of the last error.
#![allow(unsafe_code)]
#![allow(non_camel_case_types)]
// The header documents what a caller must guarantee, parameter by parameter.
#![allow(clippy::missing_safety_doc)]

mod body;
mod bound;
mod constant;
mod edge_list;
mod estimator;
mod fork;
mod graph;
mod guard;
mod handle;
mod ids;
mod layers;
mod log;
mod model;
mod optimizer;
mod plan;
mod progress;
mod ptr;
mod rank;
#[cfg(any(feature = "capi", test))]
#[cfg_attr(not(feature = "capi"), allow(dead_code))]
mod reserve;
mod status;
mod tail;
mod torture;
mod train;

pub use bound::*;
pub use edge_list::*;
pub use estimator::*;
pub use graph::*;
pub use ids::*;
pub use layers::*;
pub use log::{PLIM_LOG_DEBUG, PLIM_LOG_ERROR, PLIM_LOG_INFO, PLIM_LOG_WARNING, plim_log_fn};
pub use model::*;
pub use optimizer::*;
pub use plan::*;
pub use progress::{plim_progress, plim_progress_fn};
pub use rank::*;
pub use status::*;
pub use tail::*;
pub use train::*;
