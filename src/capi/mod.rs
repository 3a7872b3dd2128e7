//! The C interface: one file per noun, thin. Each function borrows its arguments, calls safe code and gives the result.
//!
//! [`ptr`] is the only place that turns a raw pointer into a reference, [`guard`] the only one that catches panics,
//! [`handle`] knows which handles live, [`constant`] translates the numbers of constants, [`status`] holds the numbers of
//! errors and the text of the last one.
#![allow(unsafe_code)]
#![allow(non_camel_case_types)]
// What a caller must promise stands in the header's words, parameter by parameter.
#![allow(clippy::missing_safety_doc)]

mod bound;
mod constant;
mod estimator;
mod fork;
mod graph;
mod guard;
mod handle;
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
pub use estimator::*;
pub use graph::*;
pub use log::{PLIM_LOG_DEBUG, PLIM_LOG_ERROR, PLIM_LOG_INFO, PLIM_LOG_WARNING, plim_log_fn};
pub use model::*;
pub use optimizer::*;
pub use plan::*;
pub use progress::{plim_progress, plim_progress_fn};
pub use rank::*;
pub use status::*;
pub use tail::*;
pub use train::*;
