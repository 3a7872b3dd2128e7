//! Names of nodes: a table from names to ids and back, and its file.
//!
//! The file is text. Its first line is `plimsoll ids 1 <count> <crc>`, with the number of names and the CRC-32 of all that
//! follows in eight hexadecimal digits. Then comes a line per name, in the order of the ids. In a name, `\\` stands for a
//! backslash, `\n` for a newline and `\r` for a carriage return.

use crate::error::{Error, ForThe, Result, try_filled, try_reserve};
use crate::file;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::Path;

const PURPOSE: &str = "table of ids";
/// How the file begins, before the version.
const START: &str = "plimsoll ids ";

/// Names, numbered from 0 in the order in which they were added.
///
/// The author of a file chooses its names, and could choose names that collide under a hash function that is known. So
/// names are hashed by SipHash under a random key. Nothing that can be observed depends on the key.
///
/// A large table does not fit the caches, so that a look-up waits twice for memory: for a slot, and for the entry that it
/// points to. [`Ids::fetch`] makes these waits overlap for a batch of names.
pub struct Ids {
    /// All entries, one after the other: the id and the length of a name, four bytes each, and the name.
    entries: Vec<u8>,
    /// Where the entry of each id begins.
    starts: Vec<usize>,
    /// A hash table with linear probing: the upper bits of the hash, then where the entry begins plus 1; 0 is free. Its
    /// size is a power of two.
    slots: Vec<u64>,
    key: RandomState,
    longest: usize,
}

/// Bits of a slot that say where the entry begins: a terabyte of names.
const START_BITS: u32 = 40;
/// Bytes of an entry before the name.
const HEAD: usize = 8;

impl Ids {
    /// No names.
    pub fn new() -> Result<Self> {
        let slots = try_filled(16, 0)?;
        Ok(Ids { entries: Vec::new(), starts: Vec::new(), slots, key: RandomState::new(), longest: 0 })
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Bytes of the longest name.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The name of an id.
    pub fn name(&self, id: i32) -> Option<&[u8]> {
        let start = *self.starts.get(usize::try_from(id).ok()?)?;
        Some(self.entry(start).1)
    }

    /// The id and the name of the entry that begins there.
    #[inline]
    fn entry(&self, start: usize) -> (i32, &[u8]) {
        let number = |at: usize| {
            let bytes = &self.entries[start + at..start + at + 4];
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        };
        let begin = start + HEAD;
        (number(0) as i32, &self.entries[begin..begin + number(4) as usize])
    }

    /// The id of a name.
    pub fn find(&self, name: &[u8]) -> Option<i32> {
        self.look_up(name, self.hash(name)).ok()
    }

    /// The id of a name, which is added if it is new.
    pub fn add(&mut self, name: &[u8]) -> Result<i32> {
        self.add_hashed(name, self.hash(name))
    }

    /// The hash of a name, for [`Ids::fetch`] and [`Ids::add_hashed`].
    #[inline]
    pub fn hash(&self, name: &[u8]) -> u64 {
        self.key.hash_one(name)
    }

    /// [`Ids::add`] with the hash of the name.
    #[inline]
    pub fn add_hashed(&mut self, name: &[u8], hash: u64) -> Result<i32> {
        match self.look_up(name, hash) {
            Ok(id) => Ok(id),
            Err(free) => self.push(name, hash, free),
        }
    }

    /// Brings what look-ups of these hashes will need into the caches. The loads do not depend on each other, so that the
    /// processor waits for many at once.
    pub fn fetch(&self, hashes: impl Iterator<Item = u64> + Clone) {
        let mask = self.slots.len() - 1;
        let slot = |hash: u64| self.slots[hash as usize & mask];
        std::hint::black_box(hashes.clone().fold(0, |sum, hash| sum ^ slot(hash)));
        let start = |hash: u64| (slot(hash) & START_MASK).wrapping_sub(1) as usize;
        std::hint::black_box(hashes.fold(0, |sum, hash| sum ^ self.entries.get(start(hash)).copied().unwrap_or(0)));
    }

    /// The id of a name, or the slot where it belongs.
    #[inline]
    fn look_up(&self, name: &[u8], hash: u64) -> std::result::Result<i32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            if (slot ^ hash) >> START_BITS == 0 {
                let (id, other) = self.entry((slot & START_MASK) as usize - 1);
                if other == name {
                    return Ok(id);
                }
            }
            at = (at + 1) & mask;
        }
    }

    fn push(&mut self, name: &[u8], hash: u64, free: usize) -> Result<i32> {
        let (id, start) = (self.len(), self.entries.len());
        if id == i32::MAX as usize || start as u64 >= START_MASK {
            return Err(Error::BadFormat(format!("there are more than {id} different ids")));
        }
        let len = u32::try_from(name.len()).map_err(|_| Error::BadFormat("an id is too long".to_string()))?;
        try_reserve(&mut self.entries, HEAD + name.len(), PURPOSE)?;
        try_reserve(&mut self.starts, 1, PURPOSE)?;
        // More than two thirds would be in use.
        if 3 * (id + 1) > 2 * self.slots.len() {
            self.grow()?;
            return self.push(name, hash, free_slot(&self.slots, hash));
        }
        self.entries.extend_from_slice(&(id as u32).to_le_bytes());
        self.entries.extend_from_slice(&len.to_le_bytes());
        self.entries.extend_from_slice(name);
        self.starts.push(start);
        self.longest = self.longest.max(name.len());
        self.slots[free] = slot(hash, start);
        Ok(id as i32)
    }

    fn grow(&mut self) -> Result<()> {
        let mut slots = try_filled(2 * self.slots.len(), 0u64).for_the(PURPOSE)?;
        for &start in &self.starts {
            let hash = self.hash(self.entry(start).1);
            let free = free_slot(&slots, hash);
            slots[free] = slot(hash, start);
        }
        self.slots = slots;
        Ok(())
    }

    /// Writes the file.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut checksum = crc32fast::Hasher::new();
        self.write_names(|part| {
            checksum.update(part);
            Ok(())
        })?;
        let (count, checksum) = (self.len(), checksum.finalize());
        file::write_atomically(path, |writer| {
            let io = |e: std::io::Error| Error::of_system("write the names", &e);
            writeln!(writer, "{START}1 {count} {checksum:08x}").map_err(io)?;
            self.write_names(|part| writer.write_all(part).map_err(io))
        })
    }

    /// Passes on the lines of the file after the first, in parts.
    fn write_names(&self, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        for &start in &self.starts {
            let mut rest = self.entry(start).1;
            while let Some(at) = memchr::memchr3(b'\\', b'\n', b'\r', rest) {
                write(&rest[..at])?;
                write(match rest[at] {
                    b'\n' => b"\\n",
                    b'\r' => b"\\r",
                    _ => b"\\\\",
                })?;
                rest = &rest[at + 1..];
            }
            write(rest)?;
            write(b"\n")?;
        }
        Ok(())
    }

    /// Reads the file.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = file::read(path)?;
        parse(&bytes).map_err(|e| match e {
            Error::Unsupported(text) => Error::Unsupported(format!("{}: {text}", path.display())),
            other => other.in_file(path),
        })
    }
}

const START_MASK: u64 = (1 << START_BITS) - 1;

fn slot(hash: u64, start: usize) -> u64 {
    hash >> START_BITS << START_BITS | (start as u64 + 1)
}

/// The first free slot for a hash.
fn free_slot(slots: &[u64], hash: u64) -> usize {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    while slots[at] != 0 {
        at = (at + 1) & mask;
    }
    at
}

fn parse(bytes: &[u8]) -> Result<Ids> {
    let bad = |text: &str| Error::BadFormat(text.to_string());
    let no_table = || bad("not a table of ids");
    let end = memchr::memchr(b'\n', &bytes[..bytes.len().min(100)]).ok_or_else(no_table)?;
    let (first, body) = (std::str::from_utf8(&bytes[..end]).map_err(|_| no_table())?, &bytes[end + 1..]);
    let mut words = first.strip_prefix(START).ok_or_else(no_table)?.split(' ');
    match words.next() {
        Some("1") => {}
        Some(version) => return Err(Error::Unsupported(format!("version {version} of a table of ids; 1 is known"))),
        None => return Err(no_table()),
    }
    let (count, checksum) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if words.next().is_some() || checksum != format!("{:08x}", crc32fast::hash(body)) {
        return Err(bad("the table of ids is damaged: its checksum is wrong"));
    }
    let mut ids = Ids::new()?;
    let mut name = Vec::new();
    for line in body.split_inclusive(|&byte| byte == b'\n') {
        let (number, line) = (ids.len() + 2, line.strip_suffix(b"\n").unwrap_or(line));
        name.clear();
        try_reserve(&mut name, line.len(), PURPOSE)?;
        let mut bytes = line.iter();
        while let Some(&byte) = bytes.next() {
            name.push(match (byte, if byte == b'\\' { bytes.next() } else { None }) {
                (b'\\', Some(b'\\')) => b'\\',
                (b'\\', Some(b'n')) => b'\n',
                (b'\\', Some(b'r')) => b'\r',
                (b'\\' | 0, _) => return Err(bad(&format!("line {number}: the name is not written as it should be"))),
                (byte, _) => byte,
            });
        }
        let before = ids.len();
        if name.is_empty() || ids.add(&name)? as usize != before {
            return Err(bad(&format!("line {number}: the name is empty or was there before")));
        }
    }
    if count != ids.len().to_string() {
        return Err(bad(&format!("{} names instead of {count}", ids.len())));
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbered_in_order_of_appearance_and_found_again() {
        let mut ids = Ids::new().unwrap();
        let name = |i: usize| format!("account {}", i * 7919 % 10_007).into_bytes();
        for round in 0..2 {
            for i in 0..10_007 {
                assert_eq!(ids.add(&name(i)).unwrap(), i as i32, "round {round}");
            }
        }
        assert_eq!(ids.len(), 10_007);
        for i in 0..10_007 {
            assert_eq!(ids.find(&name(i)), Some(i as i32));
            assert_eq!(ids.name(i as i32), Some(&*name(i)));
        }
        assert_eq!((ids.find(b"account"), ids.find(b""), ids.name(-1), ids.name(10_007)), (None, None, None, None));
        assert_eq!(ids.longest(), "account 10006".len());
    }

    #[test]
    fn a_saved_table_loads_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids");
        let names: [&[u8]; 6] = [b"a", b"a b,\"c\"", b"line\nbreak\r\n", b"\\n", "Zoë".as_bytes(), b"\xff\xfe"];
        let mut ids = Ids::new().unwrap();
        for (i, name) in names.iter().enumerate() {
            assert_eq!(ids.add(name), Ok(i as i32));
        }
        ids.save(&path).unwrap();
        let again = Ids::load(&path).unwrap();
        assert_eq!(again.len(), names.len());
        for (i, name) in names.iter().enumerate() {
            assert_eq!((again.name(i as i32), again.find(name)), (Some(*name), Some(i as i32)));
        }
    }

    #[test]
    fn a_table_that_is_no_table_is_refused() {
        let table =
            |body: &str, count: usize| format!("{START}1 {count} {:08x}\n{body}", crc32fast::hash(body.as_bytes()));
        assert_eq!(parse(table("a\nb\n", 2).as_bytes()).unwrap().len(), 2);
        assert_eq!(parse(table("", 0).as_bytes()).unwrap().len(), 0);
        for (text, complaint) in [
            (String::new(), "not a table"),
            ("plimsoll ids".to_string(), "not a table"),
            (table("a\nb\n", 3), "2 names instead of 3"),
            (table("a\nb\na\n", 3), "line 4: the name is empty or was there before"),
            (table("a\n\n", 2), "line 3: the name is empty"),
            (table("a\\x\n", 1), "line 2: the name is not written"),
            (table("a\\\n", 1), "line 2: the name is not written"),
            (table("a\0\n", 1), "line 2: the name is not written"),
            (table("a\nb\n", 2).replace("b\n", "c\n"), "checksum"),
            (table("a\n", 1).replace("ids 1", "ids 2"), "version 2"),
        ] {
            let error = parse(text.as_bytes()).err().unwrap().to_string();
            assert!(error.contains(complaint), "{text:?} gave {error}");
        }
    }
}
