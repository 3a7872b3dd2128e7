//! Means, standard errors, slopes and chi-square limits.

/// Mean and scatter of random vectors, updated one by one (Welford).
pub struct Moments {
    pub count: f64,
    pub mean: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    pub fn new(len: usize) -> Self {
        Moments { count: 0.0, mean: vec![0.0; len], squares: vec![0.0; len] }
    }

    pub fn add(&mut self, sample: impl IntoIterator<Item = f64>) {
        self.count += 1.0;
        for ((mean, squares), x) in self.mean.iter_mut().zip(&mut self.squares).zip(sample) {
            let off = x - *mean;
            *mean += off / self.count;
            *squares += off * (x - *mean);
        }
    }

    /// Unbiased variance of each component.
    pub fn variances(&self) -> impl Iterator<Item = f64> + '_ {
        self.squares.iter().map(|s| s / (self.count - 1.0))
    }

    /// √E‖g − E g‖².
    pub fn deviation(&self) -> f64 {
        self.variances().sum::<f64>().sqrt()
    }

    /// √E‖ḡ − E g‖²: the error of the mean itself.
    pub fn standard_error(&self) -> f64 {
        self.deviation() / self.count.sqrt()
    }

    /// ‖ḡ − h‖ in standard errors.
    ///
    /// If E g = h, then ‖ḡ − h‖² over the squared standard error tends to Σ λ_i χ²_i with Σ λ_i = 1, λ ≥ 0. Beyond 1.54
    /// its tail is largest when a single λ is not 0 (Székely & Bakirov 2003), so that more than 4 standard errors come
    /// with a probability below 6.4e-5 whatever the covariance, as they do for one normal variate.
    pub fn errors_from(&self, h: &[f64]) -> f64 {
        super::distance(&self.mean, h) / self.standard_error()
    }

    /// The largest |ḡ_i − h_i| in its own standard errors, over the components that `h` has. Differences within `rounding` are
    /// ignored, since a component may hardly vary.
    pub fn largest_error_from(&self, h: &[f64], rounding: f64) -> f64 {
        let errors = self.variances().zip(self.mean.iter().zip(h)).map(|(variance, (mean, h))| {
            let off = (mean - h).abs();
            if off <= rounding { 0.0 } else { off / (variance / self.count).sqrt() }
        });
        errors.fold(0.0, f64::max)
    }

    /// The largest difference between two means, in standard errors of their difference.
    pub fn largest_difference(&self, other: &Moments) -> f64 {
        let means = self.mean.iter().zip(&other.mean);
        let differences = means.zip(self.variances().zip(other.variances())).map(|((a, b), (va, vb))| {
            let error = (va / self.count + vb / other.count).sqrt();
            if a == b { 0.0 } else { (a - b).abs() / error }
        });
        differences.fold(0.0, f64::max)
    }
}

/// Slope of log y over log x by least squares, and its standard error; a point is (x, y, relative standard error of y).
pub fn log_slope(points: &[(f64, f64, f64)]) -> (f64, f64) {
    assert!(points.len() >= 3, "a slope through {} points", points.len());
    let weighted = |value: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(|p| value(p) / (p.2 * p.2)).sum::<f64>();
    let total = weighted(&|_| 1.0);
    let x_mean = weighted(&|p| p.0.ln()) / total;
    let xy = weighted(&|p| (p.0.ln() - x_mean) * p.1.ln());
    let xx = weighted(&|p| (p.0.ln() - x_mean) * (p.0.ln() - x_mean));
    (xy / xx, 1.0 / xx.sqrt())
}

/// Σ (found − wanted)²/wanted, with cells that expect fewer than 5 thrown together, and its degrees of freedom.
pub fn chi_square(found: &[f64], wanted: &[f64]) -> (f64, f64) {
    let (mut sum, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
    for (&f, &w) in found.iter().zip(wanted) {
        if w < 5.0 {
            rest = (rest.0 + f, rest.1 + w);
        } else {
            sum += (f - w) * (f - w) / w;
            cells += 1.0;
        }
    }
    if rest.1 >= 5.0 {
        sum += (rest.0 - rest.1) * (rest.0 - rest.1) / rest.1;
        cells += 1.0;
    } else {
        // Too few are expected for a test, but there may not be too many: with a mean below 5, 25 has a probability below 1e-9.
        assert!(rest.0 <= 25.0, "{} where {} are expected", rest.0, rest.1);
    }
    (sum, cells - 1.0)
}

/// What a χ² variate exceeds with the probability 3e-5 of a normal one beyond 4 (Wilson & Hilferty).
pub fn chi_square_limit(freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + 4.0 * spread.sqrt()).powi(3)
}
