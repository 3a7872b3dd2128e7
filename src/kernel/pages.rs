//! Large pages for large arrays. Rows of a matrix that are read here and there lie in as many pages, and the processor
//! has to look up each of them. With large pages the few lookups stay cached.
#![allow(unsafe_code)]

use crate::error::{Result, try_with_capacity};

/// `len` zeros, in large pages if the system has them and the array is large enough.
pub fn try_zeros(len: usize) -> Result<Vec<f32>> {
    let mut zeros = try_with_capacity(len)?;
    expect_large_pages(&zeros);
    zeros.resize(len, 0.0);
    Ok(zeros)
}

/// Requests large pages for the room of an array that nothing has been written to yet. Only a hint.
fn expect_large_pages(numbers: &Vec<f32>) {
    #[cfg(target_os = "linux")]
    {
        /// Bytes of a large page on x86-64 and, with pages of 4 KB, on AArch64.
        const PAGE: usize = 2 << 20;
        let start = numbers.as_ptr().addr().next_multiple_of(PAGE);
        let end = (numbers.as_ptr().addr() + size_of::<f32>() * numbers.capacity()) / PAGE * PAGE;
        if start < end {
            let pointer = numbers.as_ptr().with_addr(start).cast_mut().cast();
            // SAFETY: these are whole pages of the array's own room, and their contents stay as they are.
            unsafe { libc::madvise(pointer, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = numbers;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_zeros_however_many() {
        for len in [0, 1, 1000, (6 << 20) + 3] {
            let mut zeros = try_zeros(len).unwrap();
            assert_eq!(zeros.len(), len);
            assert!(zeros.iter().all(|&x| x == 0.0));
            zeros.fill(1.0);
        }
        assert!(try_zeros(usize::MAX / 8).is_err());
    }
}
