//! Inputs made of named arrays: archives (.npz), and stores, whose files stand one behind the other.

use super::mutate::{Core, Random, number, raw};

/// The files of a store; a number stands for each in an input.
pub const NAMES: [&str; 14] = [
    "meta.json",
    "indptr.npy",
    "indices.npy",
    "values.npy",
    "self_loops.npy",
    "weights.npy",
    "features.npy",
    "features_indptr.npy",
    "features_indices.npy",
    "features_data.npy",
    "labels.npy",
    "train.npy",
    "val.npy",
    "test.npy",
];

/// What an archive may hold besides.
const MORE_NAMES: [&str; 10] = [
    "num_nodes.npy",
    "num_features.npy",
    "num_classes.npy",
    "normalization.npy",
    "edges.npy",
    "edge_weights.npy",
    "self_loop_weights.npy",
    "adj_indptr.npy",
    "adj_indices.npy",
    "adj_values.npy",
];

#[derive(Clone)]
pub struct Member {
    pub name: Vec<u8>,
    pub data: Vec<u8>,
    /// Of a member that is not merely stored: method, checksum, unpacked size.
    packed: Option<(u16, u32, u32)>,
}

impl Member {
    pub fn new(name: &str, data: Vec<u8>) -> Self {
        Member { name: name.as_bytes().to_vec(), data, packed: None }
    }
}

/// The files of a store in an input: a number for the name, a length, bytes; and again.
pub fn parse_store(mut bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut files = Vec::new();
    while let Some((&[name, a, b], rest)) = bytes.split_first_chunk() {
        let (data, rest) = rest.split_at(usize::from(u16::from_le_bytes([a, b])).min(rest.len()));
        files.push((usize::from(name) % NAMES.len(), data));
        bytes = rest;
    }
    files
}

pub fn write_store(members: &[Member]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for member in members {
        let name = NAMES.iter().position(|name| name.as_bytes() == member.name).unwrap_or(0);
        let len = member.data.len().min(usize::from(u16::MAX));
        bytes.push(name as u8);
        bytes.extend_from_slice(&(len as u16).to_le_bytes());
        bytes.extend_from_slice(&member.data[..len]);
    }
    bytes
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The members of an archive, by its directory; `None` for what the library itself may read but this does not.
pub fn parse_zip(bytes: &[u8]) -> Option<Vec<Member>> {
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06")?;
    let count = u16_at(bytes, end + 10)?;
    let mut at = u32_at(bytes, end + 16)? as usize;
    let mut members = Vec::new();
    for _ in 0..count {
        if u32_at(bytes, at)? != 0x0201_4b50 {
            return None;
        }
        let (method, checksum) = (u16_at(bytes, at + 10)?, u32_at(bytes, at + 16)?);
        let (mut packed, mut size) = (u64::from(u32_at(bytes, at + 20)?), u64::from(u32_at(bytes, at + 24)?));
        let lengths = [u16_at(bytes, at + 28)?, u16_at(bytes, at + 30)?, u16_at(bytes, at + 32)?].map(usize::from);
        let start = u32_at(bytes, at + 42)? as usize;
        let name = bytes.get(at + 46..at + 46 + lengths[0])?.to_vec();
        let extra = at + 46 + lengths[0];
        // Sizes of 64 bits stand in a field of their own: the unpacked one first.
        if lengths[1] >= 4 && u16_at(bytes, extra)? == 1 {
            let mut field = extra + 4;
            for size in [&mut size, &mut packed] {
                if *size == u64::from(u32::MAX) {
                    *size = u64_at(bytes, field)?;
                    field += 8;
                }
            }
        }
        let data = start + 30 + usize::from(u16_at(bytes, start + 26)?) + usize::from(u16_at(bytes, start + 28)?);
        let data = bytes.get(data..data.checked_add(usize::try_from(packed).ok()?)?)?.to_vec();
        let packed = (method != 0).then_some((method, checksum, size as u32));
        members.push(Member { name, data, packed });
        at = extra + lengths[1] + lengths[2];
    }
    Some(members)
}

/// Bytes of all members as the directory tells them, none more than deflate can make of one.
pub fn unpacked_bytes(archive: &[u8]) -> usize {
    let members = parse_zip(archive).unwrap_or_default();
    let size = |m: &Member| m.packed.map_or(m.data.len(), |(_, _, size)| (size as usize).min(1032 * m.data.len()));
    members.iter().map(size).sum::<usize>().max(archive.len())
}

pub fn write_zip(members: &[Member]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for Member { name, data, packed } in members {
        let (method, checksum, size) = packed.unwrap_or_else(|| (0, crc32fast::hash(data), data.len() as u32));
        let mut common = Vec::new(); // from "version needed" to the length of the name
        common.extend_from_slice(&20u16.to_le_bytes());
        common.extend_from_slice(&0u16.to_le_bytes());
        common.extend_from_slice(&method.to_le_bytes());
        common.extend_from_slice(&[0; 4]);
        [checksum, data.len() as u32, size].iter().for_each(|n| common.extend_from_slice(&n.to_le_bytes()));
        common.extend_from_slice(&(name.len() as u16).to_le_bytes());
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&common);
        directory.extend_from_slice(&[0; 12]);
        directory.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        directory.extend_from_slice(name);
        bytes.extend_from_slice(b"PK\x03\x04");
        bytes.extend_from_slice(&common);
        bytes.extend_from_slice(&0u16.to_le_bytes());
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(data);
    }
    let begin = bytes.len() as u32;
    bytes.extend_from_slice(&directory);
    bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    (0..2).for_each(|_| bytes.extend_from_slice(&(members.len() as u16).to_le_bytes()));
    bytes.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&begin.to_le_bytes());
    bytes.extend_from_slice(&[0; 2]);
    bytes
}

pub fn mutate_npz(bytes: Vec<u8>, most: usize, random: &mut Random, core: Core<'_>) -> Vec<u8> {
    match parse_zip(&bytes) {
        Some(mut members) if !members.is_empty() && random.below(8) != 0 => {
            let names: Vec<&str> = NAMES.iter().chain(&MORE_NAMES).copied().collect();
            change(&mut members, &names, most, random, core);
            write_zip(&members)
        }
        _ => raw(bytes, most, random, core),
    }
}

pub fn mutate_store(bytes: Vec<u8>, most: usize, random: &mut Random, core: Core<'_>) -> Vec<u8> {
    let mut members: Vec<Member> =
        parse_store(&bytes).iter().map(|(name, data)| Member::new(NAMES[*name], data.to_vec())).collect();
    if members.is_empty() || random.below(8) == 0 {
        return raw(bytes, most, random, core);
    }
    change(&mut members, &NAMES, most, random, core);
    write_store(&members)
}

fn change(members: &mut Vec<Member>, names: &[&str], most: usize, random: &mut Random, core: Core<'_>) {
    let (i, j) = (random.below(members.len()), random.below(members.len()));
    match random.below(16) {
        0 => drop(members.remove(i)),
        1 => members.push(members[i].clone()),
        2 => members[i].name = random.one_of(names).as_bytes().to_vec(),
        3 => {
            let data = members[i].data.clone();
            members[j].data = data;
        }
        4 => members.swap(i, j),
        _ => {
            let member = &mut members[i];
            let data = std::mem::take(&mut member.data);
            let room = most.min(data.len() + 256);
            member.data = match data.first() {
                Some(b'{') if random.below(2) == 0 => number(data, random),
                _ if data.starts_with(b"\x93NUMPY") => npy(data, room, random, core),
                _ => raw(data, room, random, core),
            };
        }
    }
}

/// For arrays: magic and version, the header's length, a Python literal, data.
fn npy(bytes: Vec<u8>, most: usize, random: &mut Random, core: Core<'_>) -> Vec<u8> {
    const TYPES: [&str; 16] =
        ["<i4", "<i8", "<f4", "<f8", "|u1", "|i1", "<u2", "<i2", "<u4", "<u8", ">i4", ">i8", ">f4", "|b1", "<c8", "|O"];
    const WORDS: [i64; 12] = [0, 1, 2, 3, 4, -1, -2, i32::MAX as i64, i32::MIN as i64, 1 << 32, i64::MAX, i64::MIN];
    let length = u16_at(&bytes, 8).map_or(0, usize::from);
    let Some(header) = bytes.get(10..10 + length).filter(|_| random.below(8) != 0) else {
        return raw(bytes, most, random, core);
    };
    let (mut header, mut data) = (header.to_vec(), bytes[10 + length..].to_vec());
    let find = |header: &[u8], what: &[u8]| header.windows(what.len()).position(|w| w == what);
    match random.below(8) {
        0 => header = raw(header, most, random, core),
        1 => header = number(header, random),
        2 => {
            if let Some(at) = find(&header, b"'descr': '").map(|at| at + 10)
                && let Some(len) = header[at..].iter().position(|&b| b == b'\'')
            {
                header.splice(at..at + len, random.one_of(&TYPES).bytes());
            }
        }
        3 => {
            if let Some(at) = find(&header, b"False") {
                header.splice(at..at + 5, *b"True");
            }
        }
        4 => data = raw(data, most, random, core),
        5 | 6 if data.len() >= 4 => {
            let len = if data.len() >= 8 { random.one_of(&[4, 8]) } else { 4 };
            let at = random.below(data.len() / len) * len;
            let word = match random.below(3) {
                0 => random.below(16) as i64,
                _ => random.one_of(&WORDS),
            };
            data[at..at + len].copy_from_slice(&word.to_le_bytes()[..len]);
        }
        _ => {
            // So many entries, and a shape that says so, if there is but one dimension.
            let entries = random.below(data.len() / 4 + 4);
            data.resize(4 * entries, 0);
            if let Some(at) = find(&header, b"'shape': (").map(|at| at + 10)
                && let Some(len) = header[at..].iter().position(|&b| b == b')')
            {
                header.splice(at..at + len, format!("{entries},").into_bytes());
            }
        }
    }
    [&bytes[..8], &(header.len() as u16).to_le_bytes(), &header, &data].concat()
}
