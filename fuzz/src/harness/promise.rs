//! What the header promises of every call, checked after each.

use plimsoll::capi::{PLIM_ERROR_INTERNAL, PLIM_OK, plim_last_error, plim_status, plim_status_name};
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::OnceLock;

const HEADER: &str = include_str!("../../../include/plimsoll.h");

/// A bit for each status.
fn bit(status: plim_status) -> u32 {
    match status {
        0..=14 => 1 << status,
        _ => 0,
    }
}

/// The statuses that the header documents, by function.
fn documented() -> &'static HashMap<&'static str, u32> {
    static TABLE: OnceLock<HashMap<&'static str, u32>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let numbers: HashMap<&str, u32> = HEADER
            .lines()
            .filter_map(|line| line.strip_prefix("#define "))
            .filter_map(|line| line.split_once(' '))
            .filter(|(name, _)| *name == "PLIM_OK" || name.starts_with("PLIM_ERROR_"))
            .filter_map(|(name, number)| Some((name, bit(number.parse().ok()?))))
            .collect();
        let words = |text: &'static str| text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let common = HEADER.split_once("Common errors.").and_then(|(_, rest)| rest.split_once("Handles."));
        let (common, _) = common.expect("the header lists the common errors");
        let common = words(common).filter_map(|word| numbers.get(word)).fold(0, |set, bit| set | bit);
        let mut table = HashMap::new();
        for part in HEADER.split("/**").skip(1) {
            let Some((comment, code)) = part.split_once("*/") else { continue };
            let Some(name) = code.trim_start().strip_prefix("plim_status ") else { continue };
            let Some((name, _)) = name.split_once('(') else { continue };
            let Some((_, text)) = comment.split_once("@return") else { continue };
            let mut set = if text.contains("a common error") { common } else { 0 };
            let (text, without) = text.split_once("but for").unwrap_or((text, ""));
            for word in words(text) {
                // "as plim_x()": what that one returns, which stands above.
                set |= numbers.get(word).or_else(|| table.get(word)).copied().unwrap_or(0);
            }
            for word in words(without) {
                set &= !numbers.get(word).copied().unwrap_or(0);
            }
            assert_ne!(set, 0, "the header documents no status of {name}");
            table.insert(name, set);
        }
        assert!(table.len() > 70, "only {} functions in the header", table.len());
        table
    })
}

/// Functions that call back.
const CALLING_BACK: [&str; 8] = [
    "plim_train",
    "plim_tail_new",
    "plim_tail_probability",
    "plim_plan_new",
    "plim_optimizer_minimize",
    "plim_rank_train",
    "plim_rank_tail_new",
    "plim_rank_plan_new",
];

/// The text of the last failure.
pub fn message() -> &'static CStr {
    // SAFETY: the text is a string in this thread's buffer, which outlives all that is done with it here.
    unsafe { CStr::from_ptr(plim_last_error()) }
}

/// Makes a call and checks what holds for all: the status is one that the header documents for `function`, a failure has a
/// message, and a success leaves the message as it was.
pub fn call(function: &str, work: impl FnOnce() -> plim_status) -> plim_status {
    let mut before = [0u8; 128];
    let kept = copy(&mut before);
    let status = work();
    if status == PLIM_OK {
        let mut after = [0u8; 128];
        let len = copy(&mut after);
        // A callback that fails a call of its own changes the text, and may.
        let called_back = CALLING_BACK.contains(&function);
        assert!(called_back || before[..kept] == after[..len], "{function} succeeded and changed the message");
        return status;
    }
    let text = message();
    let set = documented().get(function).unwrap_or_else(|| panic!("{function} is not in the header"));
    // SAFETY: a name is a static string.
    let name = unsafe { CStr::from_ptr(plim_status_name(status)) };
    assert_ne!(status, PLIM_ERROR_INTERNAL, "{function}: {text:?}");
    assert_ne!(set & bit(status), 0, "{function} answers {status} ({name:?}), which is not documented: {text:?}");
    assert!(!text.is_empty(), "{function} failed with {name:?} and no message");
    assert!(text.to_str().is_ok(), "{function}: the message is not UTF-8: {text:?}");
    status
}

fn copy(to: &mut [u8]) -> usize {
    let text = message().to_bytes();
    let len = text.len().min(to.len());
    to[..len].copy_from_slice(&text[..len]);
    len
}
