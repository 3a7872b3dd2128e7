//! Changes inputs. Plain changes are libFuzzer's, or those of [`havoc`]; these know enough of a format to get past its
//! lengths and checksums.

/// Makes random choices.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn word(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// One of `0 .. bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound.max(1) as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// A plain change: bytes of which the first so many are in use, and the most there may be; gives how many are then in use.
pub type Core<'a> = &'a mut dyn FnMut(&mut [u8], usize, usize) -> usize;

/// Changes an input, which stays within so many bytes.
pub type Mutator = fn(Vec<u8>, usize, &mut Random, Core<'_>) -> Vec<u8>;

/// A plain change.
pub fn raw(mut bytes: Vec<u8>, most: usize, _: &mut Random, core: Core<'_>) -> Vec<u8> {
    let size = bytes.len().min(most);
    bytes.resize(most, 0);
    let size = core(&mut bytes, size, most);
    bytes.truncate(size);
    bytes
}

/// Numbers at the edges of types and of what is plausible.
const NUMBERS: [&str; 30] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "-1",
    "255",
    "256",
    "65536",
    "1048576",
    "1048577",
    "2000000",
    "2147483646",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e-45",
    "0.5",
    "1e39",
    "nan",
    "inf",
    "-0",
];

/// Puts a number in the place of another.
pub fn number(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let digit = |b: u8| b.is_ascii_digit();
    let starts: Vec<usize> =
        (0..bytes.len()).filter(|&i| digit(bytes[i]) && (i == 0 || !digit(bytes[i - 1]))).collect();
    if starts.is_empty() {
        return bytes;
    }
    let start = random.one_of(&starts);
    let len = bytes[start..].iter().take_while(|&&b| digit(b)).count();
    let other = match random.below(4) {
        // That of another place.
        0 => {
            let from = random.one_of(&starts);
            bytes[from..].iter().copied().take_while(|&b| digit(b)).collect()
        }
        1 => random.below(16).to_string().into_bytes(),
        _ => random.one_of(&NUMBERS).as_bytes().to_vec(),
    };
    bytes.splice(start..start + len, other);
    bytes
}

/// For texts.
pub fn text(bytes: Vec<u8>, most: usize, random: &mut Random, core: Core<'_>) -> Vec<u8> {
    match random.below(4) {
        0 => number(bytes, random),
        1 => {
            // A line somewhere else.
            let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&b| b == b'\n').collect();
            if lines.len() < 2 {
                return raw(bytes, most, random, core);
            }
            let (from, to) = (random.below(lines.len()), random.below(lines.len()));
            match random.below(3) {
                0 => lines.swap(from, to),
                1 => lines.insert(to, lines[from]),
                _ => drop(lines.remove(from)),
            }
            lines.concat()
        }
        _ => raw(bytes, most, random, core),
    }
}

/// For safetensors: a length, JSON of that length, data.
pub fn safetensors(bytes: Vec<u8>, most: usize, random: &mut Random, core: Core<'_>) -> Vec<u8> {
    let length = bytes.first_chunk::<8>().map(|b| u64::from_le_bytes(*b));
    let end = length.and_then(|l| usize::try_from(l).ok()).and_then(|l| l.checked_add(8));
    let Some(end) = end.filter(|&end| end <= bytes.len() && random.below(4) != 0) else {
        return raw(bytes, most, random, core);
    };
    let (mut json, mut data) = (bytes[8..end].to_vec(), bytes[end..].to_vec());
    match random.below(6) {
        0 | 1 => json = number(json, random),
        2 | 3 => json = raw(json, most, random, core),
        4 => data = raw(data, most, random, core),
        _ => {
            data.resize(random.below(2 * data.len() + 16), 0);
            json = number(json, random);
        }
    }
    [&(json.len() as u64).to_le_bytes()[..], &json, &data].concat()
}

/// A plain change where there is no libFuzzer.
pub fn havoc(bytes: &mut [u8], mut size: usize, most: usize, random: &mut Random) -> usize {
    const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, 0x20, b'0', b'9'];
    for _ in 0..=random.below(3) {
        let at = random.below(size.max(1));
        match random.below(7) {
            0 if size > 0 => bytes[at] ^= 1 << random.below(8),
            1 if size > 0 => bytes[at] = random.word() as u8,
            2 if size > 0 => bytes[at] = random.one_of(&EDGES),
            3 if size < most => {
                bytes.copy_within(at.min(size)..size, at.min(size) + 1);
                bytes[at.min(size)] = random.word() as u8;
                size += 1;
            }
            4 if size > 0 => {
                let len = 1 + random.below((size - at).min(16));
                bytes.copy_within(at + len..size, at);
                size -= len;
            }
            5 if size > 0 => {
                let len = random.below((size - at).min(32));
                let to = random.below(size);
                bytes.copy_within(at..at + len.min(size - to), to);
            }
            6 if size > 8 => {
                let value = random.one_of(&[0, 1, u64::MAX, 1 << 31, i64::MAX as u64, 1 << 32, 8, 255]).to_le_bytes();
                let at = random.below(size - 8);
                let len = random.one_of(&[2, 4, 8]);
                bytes[at..at + len].copy_from_slice(&value[..len]);
            }
            _ => {}
        }
    }
    size
}
