pub fn run(_: &[u8]) -> bool { true }
pub fn seeds() -> Vec<Vec<u8>> { vec![vec![0]] }
