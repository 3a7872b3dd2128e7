//! What is claimed of an estimator's gradients.

/// What is proved of an estimator's gradients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Property {
    /// The mean over batches and draws is the gradient over all training items.
    pub unbiased: bool,
    /// The estimate converges to the gradient of the batch as the sample sizes grow.
    pub consistent: bool,
    /// The estimate is the gradient over all training items.
    pub exact: bool,
}

impl Property {
    /// Nothing is claimed.
    pub const NONE: Property = Property { unbiased: false, consistent: false, exact: false };
    /// Unbiased alone.
    pub const UNBIASED: Property = Property { unbiased: true, ..Property::NONE };
    /// Consistent alone.
    pub const CONSISTENT: Property = Property { consistent: true, ..Property::NONE };
    /// Unbiased and consistent.
    pub const UNBIASED_AND_CONSISTENT: Property = Property { unbiased: true, ..Property::CONSISTENT };
    /// Exact, and so unbiased and consistent as well.
    pub const EXACT: Property = Property { unbiased: true, consistent: true, exact: true };
}
