//! Numbers that summarise a confusion matrix.

use crate::error::{Error, Result};

/// The mean of the classes' F1 = 2·hits / (labelled + predicted), over the classes that are labelled or predicted at all.
///
/// `confusion` is row-major, a row per class as labelled, a column per class as predicted.
pub fn macro_f1(confusion: &[usize], num_classes: usize) -> Result<f64> {
    // Sums of counts up to 2^64 need more bits.
    let sum = |counts: &mut dyn Iterator<Item = &usize>| counts.map(|&count| count as u128).sum::<u128>();
    let (mut present, mut total) = (0u32, 0.0);
    for class in 0..num_classes {
        let labelled = sum(&mut confusion[class * num_classes..][..num_classes].iter());
        let predicted = sum(&mut confusion[class..].iter().step_by(num_classes));
        if labelled + predicted > 0 {
            present += 1;
            total += 2.0 * confusion[class * num_classes + class] as f64 / (labelled + predicted) as f64;
        }
    }
    match present {
        0 => Err(Error::InvalidArgument("confusion counts no node".to_string())),
        _ => Ok(total / f64::from(present)),
    }
}

#[cfg(test)]
mod tests {
    use super::macro_f1;

    #[test]
    fn classes_that_never_occur_are_left_out_and_those_on_one_side_count_as_zero() {
        assert_eq!(macro_f1(&[3], 1), Ok(1.0));
        assert_eq!(macro_f1(&[2, 0, 0, 0, 0, 0, 0, 0, 4], 3), Ok(1.0));
        assert_eq!(macro_f1(&[2, 2, 0, 0], 2), Ok(2.0 / 3.0 / 2.0));
        assert_eq!(macro_f1(&[0, 1, 1, 0], 2), Ok(0.0));
        assert!(macro_f1(&[0; 9], 3).is_err() && macro_f1(&[], 0).is_err());
    }

    #[test]
    fn counts_of_any_size_do_not_overflow() {
        assert_eq!(macro_f1(&[usize::MAX; 4], 2), Ok(0.5));
    }
}
