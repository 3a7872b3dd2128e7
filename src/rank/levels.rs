//! The documents of a query in the order of their relevance.

/// A query's documents, the most relevant first.
#[derive(Clone, Copy)]
pub struct Levels<'a> {
    /// Their numbers.
    pub documents: &'a [i32],
    /// Where each level of relevance ends in that list, from the highest level on.
    pub ends: &'a [i32],
}

impl<'a> Levels<'a> {
    /// The number of pairs of documents that differ in relevance.
    pub fn num_pairs(&self) -> u64 {
        let n = self.documents.len() as u64;
        let mut start = 0;
        let pairs = self.ends.iter().map(|&end| {
            let size = end as u64 - std::mem::replace(&mut start, end as u64);
            size * (n - end as u64)
        });
        pairs.sum()
    }

    /// The number of documents that rank above another one. They come first.
    pub fn num_upper(&self) -> usize {
        self.ends.len().checked_sub(2).map_or(0, |level| self.ends[level] as usize)
    }

    /// The place from which on documents rank below another one.
    pub fn first_lower(&self) -> usize {
        self.ends.first().map_or(0, |&end| end as usize)
    }

    /// The place from which on documents rank below the one at `place`.
    pub fn end_of(&self, place: usize) -> usize {
        self.ends[self.ends.partition_point(|&end| end as usize <= place)] as usize
    }

    /// The pair with this number, as two places.
    pub fn pair(&self, mut number: u64) -> (usize, usize) {
        let mut start = 0;
        for &end in self.ends {
            let (end, below) = (end as usize, (self.documents.len() - end as usize) as u64);
            let pairs = (end - start) as u64 * below;
            if number < pairs {
                return (start + (number / below) as usize, end + (number % below) as usize);
            }
            number -= pairs;
            start = end;
        }
        (0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTS: [i32; 6] = [10, 11, 12, 13, 14, 15];
    /// Relevance 2, 2, 1, 0, 0, 0.
    const LEVELS: Levels<'static> = Levels { documents: &DOCUMENTS, ends: &[2, 3, 6] };

    #[test]
    fn every_ranked_pair_has_one_number() {
        assert_eq!(LEVELS.num_pairs(), 2 * 4 + 3);
        let pairs: Vec<_> = (0..11).map(|number| LEVELS.pair(number)).collect();
        let wanted = [(0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5)];
        assert_eq!(pairs, wanted);
        assert_eq!((LEVELS.num_upper(), LEVELS.first_lower()), (3, 2));
    }
}
