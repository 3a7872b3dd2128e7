//! Edge lists with options, and tables of names.

use super::super::promise::call;
use super::{Kind, Machine, pointer};
use plimsoll::capi::*;
use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};

/// The first of these functions, and how many they are.
pub const FIRST: usize = super::schedule::FIRST + super::schedule::COUNT;
pub const COUNT: usize = 18;

const TEXTS: [&[u8]; 4] = [
    b"source,target,amount\nann,bob,2\nbob,\"c, d\",0.5\nann,bob,1\n",
    b"0,1,2\n1,2,0.5\n0,1,1\n",
    b"0|1|x\n1|3|y\n",
    b"plimsoll ids 1 2 bf1e6dd1\nann\nbob\n",
];
const NAMES: [&CStr; 6] = [c"source", c"target", c"amount", c"ann", c"c, d", c""];

impl Machine<'_> {
    fn name(&mut self) -> *const std::ffi::c_char {
        match self.input.byte() {
            0xf8.. => null(),
            byte => NAMES[usize::from(byte) % NAMES.len()].as_ptr(),
        }
    }

    /// The name of a file that is there for the most part.
    fn table(&mut self) -> Option<CString> {
        let path = self.path();
        if let (Some(path), byte @ 0..=0xdf) = (&path, self.input.byte()) {
            // A folder stays one.
            let _ = std::fs::write(path.to_str().unwrap_or_default(), TEXTS[usize::from(byte) % TEXTS.len()]);
        }
        path
    }

    pub(super) fn edge_list(&mut self, function: usize) {
        type Options = *mut plim_edge_list_options;
        // SAFETY: as in `graph`.
        unsafe {
            match function - FIRST {
                0 => {
                    make!(self, Kind::EdgeList, plim_edge_list_options_new());
                }
                1 => self.free_one(Kind::EdgeList),
                2 => {
                    let separator = self.input.one_of(&[0, 9, 32, 44, 59, 124, 34, -1, 300]);
                    set!(self, Kind::EdgeList, plim_edge_list_options_set_separator(separator));
                }
                3 => {
                    let header = self.constant(2);
                    set!(self, Kind::EdgeList, plim_edge_list_options_set_header(header));
                }
                4 => {
                    let (source, target, weight) = (self.id(4), self.id(4), self.id(4) - 1);
                    set!(self, Kind::EdgeList, plim_edge_list_options_set_columns(source, target, weight));
                }
                5 => {
                    let (source, target, weight) = (self.name(), self.name(), self.name());
                    set!(self, Kind::EdgeList, plim_edge_list_options_set_column_names(source, target, weight));
                }
                6 => {
                    let on = self.constant(1);
                    set!(self, Kind::EdgeList, plim_edge_list_options_set_directed(on));
                }
                7 => {
                    let repeated = self.constant(3);
                    set!(self, Kind::EdgeList, plim_edge_list_options_set_repeated(repeated));
                }
                8 => {
                    let prefix = self.name();
                    set!(self, Kind::EdgeList, plim_edge_list_options_set_comment(prefix));
                }
                9 => {
                    let num_nodes = self.size(12);
                    set!(self, Kind::EdgeList, plim_edge_list_options_set_num_nodes(num_nodes));
                }
                10 => {
                    let (level, with) = (self.constant(3), self.input.byte() & 1 == 0);
                    let data = self.user_data();
                    let log: plim_log_fn = if with { Some(super::rank::log) } else { None };
                    set!(self, Kind::EdgeList, plim_edge_list_options_set_log(level, log, data));
                }
                11 => {
                    let path = self.table();
                    let options = if self.input.byte() & 7 == 0 { null_mut() } else { self.pick(Kind::EdgeList) };
                    let mut ids = without_provenance_mut::<plim_ids>(1);
                    let place = if self.input.byte() & 1 == 0 { &raw mut ids } else { null_mut() };
                    let status =
                        make!(self, Kind::Graph, plim_graph_from_edge_list_with(pointer(&path), options, place));
                    if status == PLIM_OK && !place.is_null() {
                        self.keep(Kind::Ids, ids.addr());
                    } else {
                        assert_eq!(ids.addr(), 1, "plim_graph_from_edge_list_with answers {status} and changed `ids`");
                    }
                }
                12 => {
                    let path = self.table();
                    make!(self, Kind::Ids, plim_ids_load(pointer(&path)));
                }
                13 => {
                    let path = self.path();
                    set!(self, Kind::Ids, plim_ids_save(pointer(&path)));
                }
                14 => {
                    let (ids, name) = (self.pick::<plim_ids>(Kind::Ids), self.name());
                    number!(self, plim_ids_find(ids, name));
                }
                15 => {
                    let ids = self.pick::<plim_ids>(Kind::Ids);
                    let count = plim_ids_count(ids);
                    let id = self.id(count);
                    let mut text = vec![0x5e; plim_ids_name_size(ids)];
                    let (to, told) = (text.as_mut_ptr(), text.len());
                    let status = call!(plim_ids_copy_name(ids, id, to, told));
                    if status == PLIM_OK {
                        assert!((id as usize) < count && text.contains(&0), "{id} of {count}: {text:?}");
                        let mut found = -7;
                        call!(plim_ids_find(ids, text.as_ptr(), &raw mut found));
                        assert_eq!(found, id, "a name is found again");
                    }
                }
                16 => {
                    let ids = self.pick::<plim_ids>(Kind::Ids);
                    let live = self.live.contains(&(Kind::Ids, ids.addr()));
                    assert!(live || plim_ids_count(ids) == 0 && plim_ids_name_size(ids) == 0);
                }
                _ => self.free_one(Kind::Ids),
            }
        }
    }

    /// Options for names and a table of two.
    pub(super) fn make_ids(&mut self) -> *mut c_void {
        let path = self.folder.name("names");
        self.wrote = true;
        std::fs::write(path.to_str().expect("a path of ours"), "ann,bob\n").expect("a file of ours");
        let (mut options, mut ids, mut graph) = (null_mut(), null_mut(), null_mut());
        // SAFETY: live handles, strings, and places for handles.
        unsafe {
            assert_eq!(plim_edge_list_options_new(&raw mut options), PLIM_OK);
            assert_eq!(plim_edge_list_options_set_header(options, PLIM_HEADER_NO), PLIM_OK);
            let status = plim_graph_from_edge_list_with(path.as_ptr(), options, &raw mut ids, &raw mut graph);
            assert_eq!(status, PLIM_OK);
        }
        plim_edge_list_options_free(options);
        plim_graph_free(graph);
        ids.cast()
    }
}
