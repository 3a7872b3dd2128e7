//! What has become of ÂX, in words.

use super::{Aggregated, Graph, Matrix};
use crate::log::Level;

impl Graph {
    /// What there is to say of ÂX; `None` as long as nobody needed it.
    pub fn aggregation(&self) -> Option<(Level, String)> {
        match &*self.aggregated.try_lock().ok()? {
            Aggregated::NotYet => None,
            Aggregated::Kept(product) => {
                let form = if let Matrix::Dense { .. } = **product { "dense" } else { "sparse" };
                let (rows, columns, bytes) = (self.num_nodes(), product.width(), product.bytes());
                Some((Level::Info, format!("ÂX is kept: {rows} x {columns}, {form}, {bytes} bytes")))
            }
            // A bound of 0 asks for just that.
            Aggregated::TooLarge => {
                let level = if self.cache_bytes > 0 { Level::Warning } else { Level::Info };
                let bound = self.cache_bytes;
                Some((level, format!("ÂX is not kept, for it takes more than {bound} bytes: steps compute its rows")))
            }
        }
    }
}
