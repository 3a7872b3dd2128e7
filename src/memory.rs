//! Missing memory: what could not be allocated, and whether memory has run out during the current call.
//!
//! Buffers that are large, or that grow with the input, are reserved fallibly ([`crate::error`]). The small rest (a message,
//! a name, a reference count) cannot fail in Rust without ending the process. For these the C library's allocator keeps a
//! reserve (`capi::reserve`) and reports each use of it here. From then on fallible reservations fail at once, so that the
//! call ends, with status 8, before the reserve is empty.

use std::cell::Cell;
use std::fmt::{Display, Formatter};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What could not be allocated. Its text says once how many bytes, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shortage {
    /// Room for this many elements of this many bytes each, for a purpose that nobody has named yet.
    Elements(usize, usize),
    /// Memory that the operating system needed to do this, which names no file yet. It does not tell how much.
    System(String),
    /// A text that says it all.
    Text(String),
}

impl Shortage {
    /// The same shortage with the purpose of the memory, unless it has one.
    pub fn for_the(self, purpose: impl Display) -> Self {
        match self {
            Shortage::Elements(..) => Shortage::Text(format!("{self} for the {purpose}")),
            Shortage::System(_) => Shortage::Text(format!("{self}, for the {purpose}")),
            Shortage::Text(_) => self,
        }
    }

    /// The same shortage with the file that was read or written, unless it is named.
    pub fn in_file(self, path: &Path) -> Self {
        match self {
            Shortage::System(_) => Shortage::Text(format!("{self} in {}", path.display())),
            other => other,
        }
    }
}

impl From<String> for Shortage {
    fn from(text: String) -> Self {
        Shortage::Text(text)
    }
}

impl Display for Shortage {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Shortage::Elements(count, size) => {
                write!(f, "cannot allocate {} bytes", grouped(*count as u128 * *size as u128))
            }
            Shortage::System(what) => write!(f, "cannot allocate memory to {what}"),
            Shortage::Text(text) => f.write_str(text),
        }
    }
}

/// A number with a comma before every third digit from the right.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How often the reserve was used.
static SHORTAGES: AtomicUsize = AtomicUsize::new(0);

/// Bytes of the block that was last taken from it.
static MISSING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// [`SHORTAGES`] at the start of this thread's current call; `None` on a thread that helps another thread's call.
    static AT_FIRST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Notes that the system had no memory for a small block of this many bytes.
#[cfg_attr(not(feature = "capi"), allow(dead_code))]
pub(crate) fn note_shortage(bytes: usize) {
    MISSING.store(bytes, Ordering::Relaxed);
    SHORTAGES.fetch_add(1, Ordering::Relaxed);
}

/// Begins a call; pass what it returns to [`end_call`].
pub(crate) fn begin_call() -> Option<usize> {
    AT_FIRST.replace(Some(SHORTAGES.load(Ordering::Relaxed)))
}

/// Ends a call. If it was made from a callback, the call around it is current again.
pub(crate) fn end_call(before: Option<usize>) {
    AT_FIRST.set(before);
}

/// Fails if memory has run out since the call began, with the small block that was missing.
pub(crate) fn check() -> Result<(), Shortage> {
    match AT_FIRST.get().is_some_and(|at_first| SHORTAGES.load(Ordering::Relaxed) != at_first) {
        true => Err(Shortage::Elements(MISSING.load(Ordering::Relaxed), 1)),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_groups_of_three_digits() {
        for (count, text) in [(1, "8"), (125, "1,000"), (12_345_678, "98,765,424")] {
            assert_eq!(Shortage::Elements(count, 8).to_string(), format!("cannot allocate {text} bytes"));
        }
    }

    #[test]
    fn what_the_system_lacked_is_named_once_with_its_file() {
        let shortage = || Shortage::System("read labels".to_string());
        let path = Path::new("six.npz");
        let expected = "cannot allocate memory to read labels in six.npz";
        assert_eq!(shortage().in_file(path).to_string(), expected);
        assert_eq!(shortage().in_file(path).in_file(path).for_the("graph").to_string(), expected);
        assert_eq!(shortage().for_the("graph").to_string(), "cannot allocate memory to read labels, for the graph");
    }

    #[test]
    fn a_block_that_was_missing_earlier_in_the_call_is_what_is_missing() {
        let before = begin_call();
        note_shortage(24);
        let shortage = check().unwrap_err().for_the("labels");
        end_call(before);
        assert_eq!(shortage.to_string(), "cannot allocate 24 bytes for the labels");
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn the_first_purpose_stays() {
        let shortage = Shortage::Elements(usize::MAX, 4).for_the("features").for_the("graph");
        assert_eq!(shortage.to_string(), "cannot allocate 73,786,976,294,838,206,460 bytes for the features");
    }
}
