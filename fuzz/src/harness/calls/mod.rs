//! Sequences of calls: an input is a program, a byte for the function and bytes for its arguments.
//!
//! Handles are live ones, NULL, freed ones, those of other types and mere numbers; arrays are exactly as long as told, so
//! that AddressSanitizer sees every step beyond; some are NULL, misaligned or too short where that is an error and not a
//! broken promise of the caller's.

/// `call!(f(…))` is a call under its own name. `set!` picks the handle that is its first argument; the last arguments of
/// `make!` are a place for a new handle, those of `number!` a place for a number, and those of `fill!` a buffer and its length.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        call(stringify!($function), || $function($($argument),*))
    };
}
macro_rules! set {
    ($self:ident, $kind:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $self.set($kind, stringify!($function), |handle| $function(handle $(, $argument)*))
    };
}
macro_rules! make {
    ($self:ident, $kind:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $self.make($kind, stringify!($function), |out| $function($($argument,)* out))
    };
}
macro_rules! number {
    ($self:ident, $function:ident($($argument:expr),* $(,)?)) => {
        $self.number(stringify!($function), |out| $function($($argument,)* out))
    };
}
macro_rules! fill {
    ($self:ident, $needed:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $self.fill(stringify!($function), $needed, |to, told| $function($($argument,)* to, told))
    };
}

mod edge_list;
mod layers;
mod rank;
mod schedule;

use super::input::Input;
use super::memory::Folder;
use super::promise::{call, message};
use plimsoll::capi::*;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Graph,
    Model,
    Estimator,
    Optimizer,
    Options,
    Probe,
    History,
    Tail,
    Plan,
    Ranking,
    EdgeList,
    Ids,
    Layers,
}

/// Numbers of things that no program has; the smallest is too large for every argument that it stands for.
const HUGE: [usize; 5] = [1 << 31, 1 << 33, usize::MAX, usize::MAX / 4 + 1, isize::MAX as usize];
const REALS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-3,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN_POSITIVE,
    1e-320,
    1e300,
    1e38,
    1e40,
    2.0,
];
/// Calls of one input.
const MOST_CALLS: usize = 64;
/// Handles that live at once.
const MOST_HANDLES: usize = 24;

pub fn run(data: &[u8]) -> bool {
    thread_local! {
        static FOLDER: Folder = Folder::new("calls");
    }
    FOLDER.with(|folder| {
        let mut machine = Machine {
            input: Input::new(data),
            folder,
            wrote: false,
            threads: 0,
            live: Vec::new(),
            stale: Vec::new(),
            context: Box::default(),
        };
        for _ in 0..MOST_CALLS {
            if machine.input.is_empty() {
                break;
            }
            machine.step();
        }
        machine.end();
    });
    true
}

/// Every function once, and a few plain programs.
pub fn seeds() -> Vec<Vec<u8>> {
    let program = |functions: &[u8]| functions.iter().flat_map(|&f| [f, 0, 1, 2, 3, 4, 5, 6, 7]).collect();
    let mut seeds: Vec<Vec<u8>> = (0..FUNCTIONS as u8).map(|f| vec![f; 24]).collect();
    seeds.push(program(&[0, 20, 36, 44, 56, 68, 69, 70]));
    seeds.push(program(&[1, 20, 34, 45, 68, 31, 32, 33]));
    seeds.push(program(&[2, 11, 16, 13, 9, 3, 6, 7, 5]));
    seeds.push(program(&[82, 89, 90, 91, 94, 95, 96, 97, 98]));
    seeds.push(program(&[107, 111, 112, 113, 116, 120, 121, 122, 123, 124, 69, 70]));
    seeds.push(program(&[0, 20, 36, 45, 56, 138, 140, 128, 131, 68, 139, 133, 134]));
    // Layers, a model of them, a gradient, training; a random model in all of these.
    seeds.push(program(&[159, 164, 168, 169, 164, 181, 183, 184, 185, 43, 68]));
    seeds.push(program(&[182, 31, 184, 183, 43, 68, 31, 36, 43, 89, 94]));
    seeds.push(program(&[109, 102, 123, 124, 125, 90, 126, 97, 98]));
    seeds.push(program(&[141, 144, 151, 152, 154, 155, 156, 153, 158]));
    // Attention, its settings, and the same uses of it.
    seeds.push(program(&[159, 177, 178, 180, 168, 177, 179, 181, 184, 43, 68]));
    seeds
}

/// What callbacks know.
#[derive(Default)]
struct Context {
    /// What a callback returns.
    answer: Cell<i32>,
    /// What an oracle fills its gradient with.
    slope: Cell<f64>,
    model: Cell<usize>,
    graph: Cell<usize>,
    depth: Cell<usize>,
}

unsafe extern "C" fn progress(user_data: *mut c_void, progress: *const plim_progress) -> i32 {
    // SAFETY: the library hands on what it was given: a context that outlives the handles, and a valid progress.
    let (context, progress) = unsafe { (&*user_data.cast::<Context>(), &*progress) };
    assert_eq!(progress.struct_size, size_of::<plim_progress>());
    assert!(progress.step <= progress.num_steps, "step {} of {}", progress.step, progress.num_steps);
    callback(context);
    context.answer.get()
}

unsafe extern "C" fn oracle(user_data: *mut c_void, step: usize, w: *const f64, gradient: *mut f64, dim: usize) -> i32 {
    // SAFETY: as above; the arrays have `dim` elements each.
    let (context, w, gradient) = unsafe {
        let arrays = (std::slice::from_raw_parts(w, dim), std::slice::from_raw_parts_mut(gradient, dim));
        (&*user_data.cast::<Context>(), arrays.0, arrays.1)
    };
    assert!(step >= 1 && w.iter().all(|w| w.is_finite()) && gradient.iter().all(|&g| g == 0.0));
    gradient.fill(context.slope.get());
    callback(context);
    context.answer.get()
}

/// Calls on objects that are in use.
fn callback(context: &Context) {
    if context.depth.replace(1) > 0 {
        return;
    }
    let model = without_provenance_mut::<plim_model>(context.model.get());
    let graph = without_provenance_mut::<plim_graph>(context.graph.get());
    let mut values = vec![0f32; plim_model_num_parameters(model)];
    let (pointer, len) = (values.as_mut_ptr(), values.len());
    // SAFETY: an array of the length told.
    call("plim_model_get_parameters", || unsafe { plim_model_get_parameters(model, pointer, len) });
    call!(plim_model_set_regularization(model, 0.5));
    call!(plim_graph_set_normalization(graph, 1));
    context.depth.set(0);
}

/// Arrays that the library borrows, and whether it gave them back.
struct Lent {
    _indptr: Vec<i64>,
    _indices: Vec<i32>,
    _values: Vec<f32>,
}

thread_local! {
    static LENT: Cell<isize> = const { Cell::new(0) };
}

unsafe extern "C" fn release(user_data: *mut c_void) {
    LENT.set(LENT.get() - 1);
    // SAFETY: made by `Box::into_raw`, and the library calls this once.
    drop(unsafe { Box::from_raw(user_data.cast::<Lent>()) });
}

/// A number to fill results with beforehand, and its bits.
trait Mark: Copy {
    const MARK: Self;
    fn is_mark(self) -> bool;
}

macro_rules! mark {
    ($($type:ty => $mark:expr, $same:expr;)*) => {$(
        impl Mark for $type {
            const MARK: Self = $mark;

            fn is_mark(self) -> bool {
                $same(self)
            }
        }
    )*};
}

mark! {
    f32 => f32::from_bits(0x7fc0_dead), |x: f32| x.to_bits() == 0x7fc0_dead;
    f64 => f64::from_bits(0x7ff8_dead_dead_dead), |x: f64| x.to_bits() == 0x7ff8_dead_dead_dead;
    i32 => 0x05ea_f00d, |x| x == 0x05ea_f00d;
    i64 => 0x05ea_f00d, |x| x == 0x05ea_f00d;
    usize => 0x05ea_f00d, |x| x == 0x05ea_f00d;
    c_char => 0x5e, |x| x == 0x5e;
}

/// Room for results.
struct Room<T> {
    values: Box<[T]>,
    null: bool,
    needed: usize,
    told: usize,
}

impl<T: Mark> Room<T> {
    fn pointer(&mut self) -> *mut T {
        if self.null { null_mut() } else { self.values.as_mut_ptr() }
    }

    fn check(&self, function: &str, status: plim_status) {
        let written = if status == PLIM_OK { self.needed.min(self.values.len()) } else { 0 };
        assert!(self.values[written..].iter().all(|x| x.is_mark()), "{function}: {status}, but something was written");
        if status == PLIM_OK {
            assert!(self.told >= self.needed, "{function} wrote {} into {}", self.needed, self.told);
        }
    }
}

/// An array of the caller's.
struct List<T> {
    _values: Vec<T>,
    pointer: *const T,
    len: usize,
}

struct Machine<'a> {
    input: Input<'a>,
    folder: &'a Folder,
    wrote: bool,
    threads: usize,
    live: Vec<(Kind, usize)>,
    stale: Vec<usize>,
    context: Box<Context>,
}

const FUNCTIONS: usize = layers::FIRST + layers::COUNT;

impl Machine<'_> {
    fn user_data(&self) -> *mut c_void {
        (&raw const *self.context).cast_mut().cast()
    }

    /// The last live handle of this kind that fits.
    fn last_live(&self, kind: Kind, fits: impl Fn(usize) -> bool) -> Option<usize> {
        self.live.iter().rev().find(|(other, handle)| *other == kind && fits(*handle)).map(|(_, handle)| *handle)
    }

    /// A handle for an argument of this kind.
    fn pick<C>(&mut self, kind: Kind) -> *mut C {
        let choice = self.input.byte();
        let right = |live: &[(Kind, usize)]| -> Vec<usize> {
            live.iter().filter(|(k, _)| *k == kind).map(|(_, handle)| *handle).collect()
        };
        let handle = match choice {
            0..=0xdf => {
                if right(&self.live).is_empty() {
                    self.make_default(kind);
                }
                let right = right(&self.live);
                if right.is_empty() { 0 } else { right[right.len() - 1 - usize::from(choice) % right.len()] }
            }
            0xe0..=0xe7 => 0,
            0xe8..=0xef => {
                self.stale.get(self.stale.len().wrapping_sub(1 + usize::from(choice & 7))).copied().unwrap_or(0)
            }
            0xf0..=0xf7 if !self.live.is_empty() => self.live[usize::from(choice & 7) % self.live.len()].1,
            0xf8..=0xfb if !self.live.is_empty() => self.live[0].1 ^ 1 << (self.input.byte() % 64),
            _ => [1, 8, 0xdead_beef, usize::MAX, (&raw const *self).addr()][usize::from(choice) % 5],
        };
        without_provenance_mut(handle)
    }

    fn keep(&mut self, kind: Kind, handle: usize) {
        assert!(handle > 1, "a success without a handle");
        assert!(self.live.iter().all(|(_, other)| *other != handle), "a handle was given twice");
        self.live.push((kind, handle));
        if self.live.len() > MOST_HANDLES {
            let (kind, handle) = self.live.remove(0);
            self.free(kind, handle);
        }
    }

    /// Makes an object; `work` has a place for its handle.
    fn make<C>(&mut self, kind: Kind, function: &str, work: impl FnOnce(*mut *mut C) -> plim_status) -> plim_status {
        let untouched = without_provenance_mut::<C>(1);
        let mut out = untouched;
        let null = self.input.byte() == 0xff;
        let place = if null { null_mut() } else { &raw mut out };
        let status = call(function, || work(place));
        let trains = ["plim_train", "plim_rank_train"].contains(&function);
        let given = status == PLIM_OK || trains && [PLIM_ERROR_DIVERGED, PLIM_ERROR_CANCELLED].contains(&status);
        if given && !null {
            self.keep(kind, out.addr());
        } else {
            assert_eq!(out, untouched, "{function} answers {status} and changed `out`");
            assert!(!given || trains, "{function} had no place for its result and succeeded");
        }
        status
    }

    /// An object of this kind that most calls succeed with.
    fn make_default(&mut self, kind: Kind) {
        let (from, to) = ([0, 1, 2, 3, 4], [1, 2, 3, 4, 0]);
        let (features, labels) = ([1f32, 0.0, 0.5, 1.0, 0.0, 1.0, 0.25, 0.5, 1.0, 1.0], [0, 1, 0, 1, -1]);
        let widths = [2, 3, 2];
        let mut out: *mut c_void = null_mut();
        let place = &raw mut out;
        // SAFETY: live handles, and arrays of the lengths told.
        unsafe {
            let ok = |status| assert_eq!(status, PLIM_OK, "{:?}", message());
            match kind {
                Kind::Graph => {
                    ok(plim_graph_from_edges(5, 5, from.as_ptr(), to.as_ptr(), null(), place.cast()));
                    ok(plim_graph_set_features(out.cast(), 2, features.as_ptr()));
                    ok(plim_graph_set_labels(out.cast(), labels.as_ptr()));
                    ok(plim_graph_set_split(out.cast(), 0, [0, 1, 2].as_ptr(), 3));
                    ok(plim_graph_set_split(out.cast(), 1, [3].as_ptr(), 1));
                }
                Kind::Model => ok(plim_model_gcn(widths.as_ptr(), 3, 1, place.cast())),
                Kind::Estimator => ok(plim_estimator_consistent([2, 2].as_ptr(), 2, place.cast())),
                Kind::Optimizer => ok(plim_optimizer_adam(0.1, place.cast())),
                Kind::Options => {
                    ok(plim_train_options_new(place.cast()));
                    ok(plim_train_options_set_epochs(out.cast(), 2));
                }
                Kind::Probe => {
                    ok(plim_probe_options_new(place.cast()));
                    ok(plim_probe_options_set_draws(out.cast(), 12));
                }
                Kind::Ranking => {
                    let (relevance, offsets) = ([0, 2, 1, 0, 1], [0i64, 3, 5]);
                    let data = plim_rank_data_new(
                        5,
                        2,
                        features.as_ptr(),
                        relevance.as_ptr(),
                        2,
                        offsets.as_ptr(),
                        place.cast(),
                    );
                    ok(data);
                }
                Kind::EdgeList => {
                    ok(plim_edge_list_options_new(place.cast()));
                    ok(plim_edge_list_options_set_header(out.cast(), PLIM_HEADER_NO));
                }
                Kind::Ids => out = self.make_ids(),
                Kind::Layers => {
                    ok(plim_layers_new(2, place.cast()));
                    ok(plim_layers_sage(out.cast(), 3, PLIM_AGGREGATOR_MEAN));
                    ok(plim_layers_activation(out.cast(), PLIM_ACTIVATION_RELU));
                }
                Kind::History | Kind::Tail | Kind::Plan => return,
            }
        }
        self.keep(kind, out.addr());
    }

    fn free(&mut self, kind: Kind, handle: usize) {
        fn of<C>(handle: usize) -> *mut C {
            without_provenance_mut(handle)
        }
        match kind {
            Kind::Graph => plim_graph_free(of(handle)),
            Kind::Model => plim_model_free(of(handle)),
            Kind::Estimator => plim_estimator_free(of(handle)),
            Kind::Optimizer => plim_optimizer_free(of(handle)),
            Kind::Options => plim_train_options_free(of(handle)),
            Kind::Probe => plim_probe_options_free(of(handle)),
            Kind::History => plim_history_free(of(handle)),
            Kind::Tail => plim_tail_free(of(handle)),
            Kind::Plan => plim_plan_free(of(handle)),
            Kind::Ranking => plim_rank_data_free(of(handle)),
            Kind::EdgeList => plim_edge_list_options_free(of(handle)),
            Kind::Ids => plim_ids_free(of(handle)),
            Kind::Layers => plim_layers_free(of(handle)),
        }
        // If it was of that kind, it is dead now.
        if let Some(at) = self.live.iter().position(|live| *live == (kind, handle)) {
            self.live.remove(at);
        }
        self.stale.push(handle);
    }

    fn free_one(&mut self, kind: Kind) {
        let handle = self.pick::<c_void>(kind);
        self.free(kind, handle.addr());
    }

    fn end(&mut self) {
        while let Some(&(kind, handle)) = self.live.last() {
            self.free(kind, handle);
        }
        assert_eq!(LENT.get(), 0, "arrays were lent and not given back");
        if self.wrote {
            self.folder.clear();
        }
    }

    // Values.

    fn size(&mut self, most: usize) -> usize {
        match self.input.byte() {
            0xf0.. => self.input.one_of(&HUGE),
            byte => usize::from(byte) % (most + 1),
        }
    }

    fn real(&mut self) -> f64 {
        match self.input.byte() {
            byte @ 0..=0x7f => f64::from(byte) / 64.0,
            byte @ 0x80..=0xef => REALS[usize::from(byte) % REALS.len()],
            _ => f64::from_bits(self.input.word()),
        }
    }

    fn real32(&mut self) -> f32 {
        match self.input.byte() {
            byte @ 0..=0xef => f32::from(byte) / 64.0 - 1.0,
            byte => REALS[usize::from(byte) % REALS.len()] as f32,
        }
    }

    fn reals32(&mut self, len: usize) -> Vec<f32> {
        // One byte for all but a few: inputs stay short.
        let base = self.real32();
        let mut values: Vec<f32> = (0..len).map(|i| base + (i % 3) as f32 / 4.0).collect();
        if !values.is_empty() && self.input.byte() > 0xe0 {
            let at = self.input.below(len);
            values[at] = self.real32();
        }
        values
    }

    fn id(&mut self, n: usize) -> i32 {
        match self.input.byte() {
            0xf8.. => self.input.one_of(&[-1, n as i32, i32::MAX, i32::MIN]),
            byte => (usize::from(byte) % n.max(1)) as i32,
        }
    }

    fn ids(&mut self, n: usize, len: usize) -> Vec<i32> {
        (0..len).map(|_| self.id(n)).collect()
    }

    /// Distinct for the most part.
    fn nodes(&mut self, n: usize) -> Vec<i32> {
        let (start, len) = (self.input.below(n), self.input.below(n + 1));
        let mut nodes: Vec<i32> = (0..len).map(|i| ((start + i) % n.max(1)) as i32).collect();
        if len > 0 && self.input.byte() > 0xe0 {
            nodes[len - 1] = self.id(n);
        }
        nodes
    }

    fn constant(&mut self, most: i32) -> i32 {
        match self.input.byte() {
            0xf8.. => self.input.one_of(&[-1, most + 1, i32::MAX, i32::MIN]),
            byte => i32::from(byte) % (most + 1),
        }
    }

    /// An array as it is, NULL or misaligned.
    fn array<T: Copy>(&mut self, mut values: Vec<T>) -> List<T> {
        let len = values.len();
        values.shrink_to_fit();
        let mut pointer = values.as_ptr();
        match self.input.byte() {
            0xfc => pointer = null(),
            0xfd => pointer = pointer.wrapping_byte_add(1),
            _ => {}
        }
        List { _values: values, pointer, len }
    }

    /// A list: an array, none at all, or NULL that is said to have elements.
    fn list<T: Copy>(&mut self, values: Vec<T>) -> List<T> {
        let mut list = self.array(values);
        match self.input.byte() {
            0xf8 => (list.pointer, list.len) = (null(), 0),
            0xf9 => list.len = 0,
            0xfa => (list.pointer, list.len) = (null(), usize::MAX),
            _ => {}
        }
        list
    }

    /// A list, or half of the time NULL and 0, which stands for all.
    fn list_or_none<T: Copy>(&mut self, values: Vec<T>) -> List<T> {
        match self.input.byte() & 1 {
            0 => List { _values: Vec::new(), pointer: null(), len: 0 },
            _ => self.list(values),
        }
    }

    /// What errors are measured for.
    fn sizes_and_deltas(&mut self) -> (List<usize>, List<f64>) {
        let (num_sizes, num_deltas) = (self.input.below(3), self.input.below(3));
        let sizes = (0..num_sizes).map(|_| self.size(6)).collect();
        let deltas = (0..num_deltas).map(|_| self.real()).collect();
        (self.list(sizes), self.list(deltas))
    }

    fn room<T: Mark>(&mut self, needed: usize) -> Room<T> {
        let (told, null) = match self.input.byte() {
            0..=0xbf => (needed, false),
            0xc0..=0xcf => (needed + 3, false),
            0xd0..=0xdf => (needed.saturating_sub(1), false),
            0xe0..=0xef => (0, false),
            _ => (needed, true),
        };
        Room { values: vec![T::MARK; told].into_boxed_slice(), null, needed, told }
    }

    fn path(&mut self) -> Option<CString> {
        self.wrote = true;
        let name = match self.input.byte() {
            0xf0..=0xf3 => return None,
            0xf4..=0xf7 => return Some(CString::default()),
            0xf8..=0xfb => "none/there",
            0xfc.. => "",
            byte => ["a", "b", "c"][usize::from(byte) % 3],
        };
        Some(self.folder.name(name))
    }

    // Calls.

    /// A call with one handle that gives nothing back.
    fn set<C>(&mut self, kind: Kind, function: &str, work: impl FnOnce(*mut C) -> plim_status) {
        let handle = self.pick::<C>(kind);
        call(function, || work(handle));
    }

    /// A call that fills a buffer.
    fn fill<T: Mark>(&mut self, function: &str, needed: usize, work: impl FnOnce(*mut T, usize) -> plim_status) {
        let mut room = self.room::<T>(needed);
        let (to, told) = (room.pointer(), room.told);
        let status = call(function, || work(to, told));
        room.check(function, status);
    }

    /// A call that gives a gradient and its loss.
    fn gradient(
        &mut self,
        function: &str,
        model: *const plim_model,
        work: impl FnOnce(*mut f32, usize, *mut f64) -> plim_status,
    ) {
        let mut room = self.room::<f32>(plim_model_num_parameters(model));
        let (to, told) = (room.pointer(), room.told);
        let mut loss = f64::MARK;
        let place = if self.input.byte() & 1 == 0 { &raw mut loss } else { null_mut() };
        let status = call(function, || work(to, told, place));
        room.check(function, status);
        assert!(status == PLIM_OK || loss.is_mark(), "a failed gradient wrote its loss");
        if status == PLIM_OK {
            assert!(room.values[..room.needed].iter().all(|g| g.is_finite()), "not finite");
        }
    }

    /// A call that gives an average. How many numbers is not told beforehand: as many as some model has parameters.
    fn average(&mut self, function: &str, work: impl FnOnce(*mut plim_optimizer, *mut f32, usize) -> plim_status) {
        let optimizer = self.pick(Kind::Optimizer);
        let mut room = Room { values: vec![f32::MARK; 256].into_boxed_slice(), null: false, needed: 256, told: 256 };
        let told = if self.input.byte() < 0xe0 { 256 } else { 0 };
        let to = room.pointer();
        let status = call(function, || work(optimizer, to, told));
        room.check(function, status);
    }

    /// A number into a place of its own.
    fn number<T: Mark>(&mut self, function: &str, work: impl FnOnce(*mut T) -> plim_status) {
        let mut room = self.room::<T>(1);
        // A place is one number or NULL.
        if room.told == 0 {
            room = Room { values: vec![T::MARK].into_boxed_slice(), null: true, needed: 1, told: 1 };
        }
        let pointer = room.pointer();
        let status = call(function, || work(pointer));
        room.check(function, status);
        assert!(status != PLIM_OK || !room.null, "{function} had no place for its result and succeeded");
    }

    /// Rows of a matrix, for the most part in order, and as many columns as the last says.
    fn rows(&mut self, n: usize, columns: usize) -> (Vec<i64>, Vec<i32>, Vec<f32>) {
        let mut indptr = vec![0i64];
        let mut indices = Vec::new();
        for _ in 0..n.min(16) {
            let len = self.input.below(4).min(columns);
            let first = self.input.below(columns.max(1));
            indices.extend((0..len).map(|i| (first + i).min(columns.max(1) - 1) as i32));
            indptr.push(indices.len() as i64);
        }
        match self.input.byte() {
            0xf0..=0xf7 => {
                let at = self.input.below(indptr.len());
                indptr[at] = self.input.one_of(&[-1, 1, 2, i64::MAX, i64::MIN, 1 << 40]);
            }
            0xf8.. if !indices.is_empty() => {
                let at = self.input.below(indices.len());
                indices[at] = self.id(columns);
            }
            _ => {}
        }
        let values = self.reals32(indices.len()).into_iter().map(f32::abs).collect();
        (indptr, indices, values)
    }

    /// Columns and values behind such rows: as many as the last offset promises, or NULL.
    fn entries<T>(indptr: &[i64], values: &[T]) -> *const T {
        let promised = indptr.last().copied().unwrap_or(0);
        if promised > values.len() as i64 { null() } else { values.as_ptr() }
    }

    fn step(&mut self) {
        match usize::from(self.input.byte()) % FUNCTIONS {
            function @ 0..=19 => self.graph(function),
            function @ 20..=33 => self.model(function),
            function @ 34..=43 => self.estimator(function),
            function @ 44..=55 => self.optimizer(function),
            function @ 56..=71 => self.train(function),
            function @ 72..=81 => self.theory(function),
            function @ 82..=100 => self.measure(function),
            function @ 101..=127 => self.rank(function),
            function @ schedule::FIRST..edge_list::FIRST => self.schedule(function),
            function @ edge_list::FIRST..layers::FIRST => self.edge_list(function),
            function => self.layers(function),
        }
    }

    fn graph(&mut self, function: usize) {
        // SAFETY: in this block and those like it below: handles are checked by the library, arrays have the lengths told
        // or are NULL, strings end with a zero byte, and places are valid or NULL.
        unsafe {
            match function {
                0 => {
                    let (n, m) = (self.size(12), self.input.below(16));
                    let (from, to) = (self.ids(n, m), self.ids(n, m));
                    let (from, to) = (self.array(from), self.array(to));
                    let weights = self.reals32(m).into_iter().map(f32::abs).collect();
                    let weights = self.array(weights);
                    make!(self, Kind::Graph, plim_graph_from_edges(n, m, from.pointer, to.pointer, weights.pointer));
                }
                1 => {
                    let n = self.size(8);
                    let (indptr, indices, values) = self.rows(n, n.min(8));
                    let (columns, weights) = (Self::entries(&indptr, &indices), Self::entries(&indptr, &values));
                    let indptr = self.array(indptr);
                    make!(self, Kind::Graph, plim_graph_from_csr(n, indptr.pointer, columns, weights));
                }
                2 => {
                    let n = self.size(8);
                    let (indptr, indices, values) = self.rows(n, n.min(8));
                    let lent = Box::new(Lent { _indptr: indptr, _indices: indices, _values: values });
                    let columns = Self::entries(&lent._indptr, &lent._indices);
                    let weights =
                        if self.input.byte() & 1 == 0 { Self::entries(&lent._indptr, &lent._values) } else { null() };
                    let indptr = lent._indptr.as_ptr();
                    let lent = Box::into_raw(lent);
                    let status = make!(
                        self,
                        Kind::Graph,
                        plim_graph_view_csr(n, indptr, columns, weights, Some(release), lent.cast())
                    );
                    Self::lent(lent, status);
                }
                3 => {
                    let (n, seed) = (self.size(4), self.input.word());
                    make!(self, Kind::Graph, plim_graph_from_mixture(n, seed));
                }
                4 => {
                    let (path, n) = (self.path(), self.size(12));
                    make!(self, Kind::Graph, plim_graph_from_edge_list(pointer(&path), n));
                }
                5 => {
                    let path = self.path();
                    make!(self, Kind::Graph, plim_graph_load(pointer(&path)));
                }
                6 => {
                    let path = self.path();
                    set!(self, Kind::Graph, plim_graph_save(pointer(&path)));
                }
                7 => {
                    let path = self.path();
                    set!(self, Kind::Graph, plim_graph_save_store(pointer(&path)));
                }
                8 => {
                    // Both take a size, and a function of its own would give old inputs another meaning.
                    let size = self.size(200);
                    match size % 2 {
                        0 => set!(self, Kind::Graph, plim_graph_set_cache(size)),
                        _ => {
                            set!(self, Kind::Graph, plim_graph_set_num_classes(size))
                        }
                    }
                }
                9 => self.free_one(Kind::Graph),
                10 | 11 => {
                    let graph = self.pick::<plim_graph>(Kind::Graph);
                    let width = self.size(4);
                    let n = plim_graph_num_nodes(graph);
                    let values = self.reals32(n * width.min(4));
                    if function == 10 {
                        let values = self.array(values);
                        call!(plim_graph_set_features(graph, width, values.pointer));
                    } else {
                        let lent = Box::new(Lent { _indptr: Vec::new(), _indices: Vec::new(), _values: values });
                        let values = lent._values.as_ptr();
                        let lent = Box::into_raw(lent);
                        let status = call!(plim_graph_view_features(graph, width, values, Some(release), lent.cast()));
                        Self::lent(lent, status);
                    }
                }
                12 => {
                    let graph = self.pick::<plim_graph>(Kind::Graph);
                    let width = self.size(4);
                    let (indptr, indices, values) = self.rows(plim_graph_num_nodes(graph), width.min(4));
                    // A graph may have more nodes than there are rows here.
                    let enough = indptr.len() > plim_graph_num_nodes(graph);
                    let (columns, weights) = (Self::entries(&indptr, &indices), Self::entries(&indptr, &values));
                    let indptr = if enough { indptr.as_ptr() } else { null() };
                    call!(plim_graph_set_sparse_features(graph, width, indptr, columns, weights));
                }
                13 => set!(self, Kind::Graph, plim_graph_normalize_features()),
                14 => {
                    let graph = self.pick::<plim_graph>(Kind::Graph);
                    let n = plim_graph_num_nodes(graph);
                    let labels = self.ids(3, n);
                    let labels = self.array(labels);
                    call!(plim_graph_set_labels(graph, labels.pointer));
                }
                15 => {
                    let graph = self.pick::<plim_graph>(Kind::Graph);
                    let nodes = self.nodes(plim_graph_num_nodes(graph));
                    let (split, nodes) = (self.constant(2), self.list(nodes));
                    call!(plim_graph_set_split(graph, split, nodes.pointer, nodes.len));
                }
                16 => {
                    let how = self.constant(2);
                    set!(self, Kind::Graph, plim_graph_set_normalization(how));
                }
                17 => {
                    let graph = self.pick::<plim_graph>(Kind::Graph);
                    let live = self.live.contains(&(Kind::Graph, graph.addr()));
                    assert_eq!(plim_graph_num_nodes(graph) > 0, live, "{graph:?} is live: {live}");
                    let _ =
                        (plim_graph_num_edges(graph), plim_graph_num_features(graph), plim_graph_num_classes(graph));
                    let split = self.constant(2);
                    assert!(plim_graph_split_size(graph, split) <= plim_graph_num_nodes(graph));
                    call!(plim_graph_verify(graph));
                }
                18 => {
                    let graph = self.pick::<plim_graph>(Kind::Graph);
                    let split = self.constant(2);
                    fill!(self, plim_graph_split_size(graph, split), plim_graph_copy_split(graph, split));
                }
                _ => {
                    let graph = self.pick::<plim_graph>(Kind::Graph);
                    fill!(self, plim_graph_num_nodes(graph), plim_graph_copy_labels(graph));
                }
            }
        }
    }

    /// After a call that borrows: on success the library has them, on failure they are still the caller's.
    fn lent(lent: *mut Lent, status: plim_status) {
        match status {
            PLIM_OK => LENT.set(LENT.get() + 1),
            // SAFETY: made by `Box::into_raw`; the header says that a failed call never releases.
            _ => drop(unsafe { Box::from_raw(lent) }),
        }
    }

    fn model(&mut self, function: usize) {
        // SAFETY: as in `graph`.
        unsafe {
            match function {
                20 => {
                    let layers = self.input.below(5);
                    let widths: Vec<usize> = (0..layers).map(|_| self.size(5)).collect();
                    let (widths, seed) = (self.list(widths), self.input.word());
                    make!(self, Kind::Model, plim_model_gcn(widths.pointer, widths.len, seed));
                }
                21 => {
                    let path = self.path();
                    make!(self, Kind::Model, plim_model_load(pointer(&path)));
                }
                22 => {
                    let path = self.path();
                    set!(self, Kind::Model, plim_model_save(pointer(&path)));
                }
                23 => {
                    let model = self.pick(Kind::Model);
                    make!(self, Kind::Model, plim_model_clone(model));
                }
                24 => self.free_one(Kind::Model),
                25 if self.input.below(4) == 0 => {
                    let directory = self.input.one_of(&[c"/tmp", c"/no/such/directory", c""]).as_ptr();
                    let directory = if self.input.below(4) == 0 { null() } else { directory };
                    let size = self.size(100);
                    set!(self, Kind::Model, plim_model_set_scratch(directory, size));
                }
                25 => {
                    let lambda = self.real();
                    set!(self, Kind::Model, plim_model_set_regularization(lambda));
                }
                26 => {
                    let mut threads = self.input.one_of(&[1, 1, 1, 0, 2, 3, 1025, usize::MAX]);
                    self.threads += usize::from(threads < 4);
                    if self.threads > 2 {
                        threads = 1; // starting them is slow
                    }
                    set!(self, Kind::Model, plim_model_set_threads(threads));
                }
                27 => {
                    let model = self.pick::<plim_model>(Kind::Model);
                    let live = self.live.contains(&(Kind::Model, model.addr()));
                    assert_eq!(plim_model_num_values(model) > 0, live, "{model:?} is live: {live}");
                    assert!(live || plim_model_num_parameters(model) + plim_model_num_layers(model) == 0);
                }
                28 => {
                    let model = self.pick::<plim_model>(Kind::Model);
                    fill!(self, plim_model_num_parameters(model), plim_model_get_parameters(model));
                }
                29 => {
                    let model = self.pick::<plim_model>(Kind::Model);
                    let len = plim_model_num_parameters(model) + usize::from(self.input.byte() > 0xf0);
                    let values = self.reals32(len);
                    let values = self.list(values);
                    call!(plim_model_set_parameters(model, values.pointer, values.len));
                }
                30 => {
                    let model = self.pick::<plim_model>(Kind::Model);
                    let layers = plim_model_num_layers(model);
                    fill!(self, if layers > 0 { layers + 1 } else { 0 }, plim_model_copy_widths(model));
                }
                31 | 32 => {
                    let (model, graph) = (self.pick(Kind::Model), self.pick(Kind::Graph));
                    let n = plim_graph_num_nodes(graph);
                    let nodes = self.nodes(n);
                    let nodes = self.list_or_none(nodes);
                    let layers = plim_model_num_layers(model);
                    let layer = if function == 31 { layers.saturating_sub(1) } else { self.size(layers) };
                    let rows = if nodes.pointer.is_null() { n } else { nodes.len };
                    let columns = match function {
                        31 => Self::output_width(model),
                        _ => Self::widths(model).get(layer.wrapping_add(1)).copied().unwrap_or(0),
                    };
                    let needed = rows * columns;
                    let mut room = self.room::<f32>(needed);
                    let (to, told) = (room.pointer(), room.told);
                    if function == 31 {
                        let status = call!(plim_model_predict(model, graph, nodes.pointer, nodes.len, to, told));
                        room.check("plim_model_predict", status);
                    } else {
                        let status = call!(plim_model_embed(model, graph, nodes.pointer, nodes.len, layer, to, told));
                        room.check("plim_model_embed", status);
                    }
                }
                _ => {
                    let (model, graph) = (self.pick(Kind::Model), self.pick(Kind::Graph));
                    let split = self.constant(2);
                    let (mut loss, mut accuracy) = (f64::MARK, f64::MARK);
                    let wanted = self.input.byte();
                    let loss_place = if wanted & 1 == 0 { &raw mut loss } else { null_mut() };
                    let accuracy_place = if wanted & 2 == 0 { &raw mut accuracy } else { null_mut() };
                    let status = call!(plim_model_evaluate(model, graph, split, loss_place, accuracy_place));
                    let done = status == PLIM_OK;
                    assert_eq!(loss.is_mark(), !done || wanted & 1 != 0, "plim_model_evaluate: {status}");
                    assert_eq!(accuracy.is_mark(), !done || wanted & 2 != 0, "plim_model_evaluate: {status}");
                }
            }
        }
    }

    fn widths(model: *const plim_model) -> Vec<usize> {
        let mut widths = vec![0; plim_model_num_layers(model) + 1];
        // SAFETY: an array of the length told.
        let _ = unsafe { plim_model_copy_widths(model, widths.as_mut_ptr(), widths.len()) };
        widths
    }

    fn estimator(&mut self, function: usize) {
        let n = self
            .live
            .iter()
            .rfind(|(kind, _)| *kind == Kind::Graph)
            .map_or(5, |(_, graph)| plim_graph_num_nodes(without_provenance_mut(*graph)));
        // SAFETY: as in `graph`.
        unsafe {
            match function {
                34 => drop(make!(self, Kind::Estimator, plim_estimator_full())),
                35 => drop(make!(self, Kind::Estimator, plim_estimator_unbiased())),
                36 => {
                    let layers = self.input.below(4);
                    let sizes: Vec<usize> = (0..layers).map(|_| self.size(6)).collect();
                    let sizes = self.list(sizes);
                    make!(self, Kind::Estimator, plim_estimator_consistent(sizes.pointer, sizes.len));
                }
                37 => self.free_one(Kind::Estimator),
                38 => {
                    let seed = self.input.word();
                    set!(self, Kind::Estimator, plim_estimator_set_seed(seed));
                }
                39 => {
                    let which = self.constant(3);
                    set!(self, Kind::Estimator, plim_estimator_set_distribution(which));
                }
                40 => {
                    let weights: Vec<f64> = (0..n).map(|_| self.real()).collect();
                    let weights = self.list(weights);
                    set!(self, Kind::Estimator, plim_estimator_set_weights(weights.pointer, weights.len));
                }
                41 => {
                    let (layer, len) = (self.size(2), self.input.below(5));
                    let nodes = self.ids(n, len);
                    let nodes = self.list(nodes);
                    set!(self, Kind::Estimator, plim_estimator_set_draws(layer, nodes.pointer, nodes.len));
                }
                42 => {
                    let estimator = self.pick::<plim_estimator>(Kind::Estimator);
                    let live = self.live.contains(&(Kind::Estimator, estimator.addr()));
                    let property = plim_estimator_property(estimator);
                    assert!([0, 1, 2, 3, 7].contains(&property) && (live || property == 0), "property {property}");
                }
                _ => {
                    let (estimator, model) = (self.pick(Kind::Estimator), self.pick(Kind::Model));
                    let graph = self.pick(Kind::Graph);
                    let nodes = self.nodes(plim_graph_num_nodes(graph));
                    let nodes = self.list_or_none(nodes);
                    self.gradient("plim_estimator_gradient", model, |to, told, loss| {
                        plim_estimator_gradient(estimator, model, graph, nodes.pointer, nodes.len, to, told, loss)
                    });
                }
            }
        }
    }

    fn optimizer(&mut self, function: usize) {
        let value = self.real();
        // SAFETY: as in `graph`.
        unsafe {
            match function {
                44 => drop(make!(self, Kind::Optimizer, plim_optimizer_sgd(value))),
                45 => drop(make!(self, Kind::Optimizer, plim_optimizer_adam(value))),
                46 => self.free_one(Kind::Optimizer),
                47 => {
                    let which = self.constant(2);
                    set!(self, Kind::Optimizer, plim_optimizer_set_schedule(which));
                }
                48 => set!(self, Kind::Optimizer, plim_optimizer_set_decay(value)),
                49 => set!(self, Kind::Optimizer, plim_optimizer_set_ball(value)),
                50 => {
                    let high = self.real();
                    set!(self, Kind::Optimizer, plim_optimizer_set_box(value, high));
                }
                51 => {
                    let on = self.constant(1);
                    set!(self, Kind::Optimizer, plim_optimizer_set_averaging(on));
                }
                52 => set!(self, Kind::Optimizer, plim_optimizer_reset()),
                53 => {
                    let (optimizer, model) = (self.pick(Kind::Optimizer), self.pick::<plim_model>(Kind::Model));
                    let len = plim_model_num_parameters(model) + usize::from(self.input.byte() > 0xf0);
                    let values = self.reals32(len);
                    let values = self.list(values);
                    call!(plim_optimizer_update(optimizer, model, values.pointer, values.len));
                    self.finite(model);
                }
                54 => {
                    self.average("plim_optimizer_average", |optimizer, to, told| {
                        plim_optimizer_average(optimizer, to, told)
                    });
                }
                _ => {
                    let dim = self.size(4);
                    let steps = self.input.below(5);
                    let mut w: Vec<f64> = (0..dim.min(4)).map(|_| self.real()).collect();
                    let before = w.clone();
                    let mut average = vec![f64::MARK; dim.min(4)];
                    let (w_null, average_null) = (self.input.byte() > 0xf0 || dim > 4, self.input.byte() > 0x80);
                    self.context.answer.set(i32::from(self.input.byte() > 0xe0));
                    let slope = self.real();
                    self.context.slope.set(slope);
                    let with: plim_oracle = if self.input.byte() > 0xf0 { None } else { Some(oracle) };
                    let data = self.user_data();
                    let optimizer = self.pick(Kind::Optimizer);
                    let w_place = if w_null { null_mut() } else { w.as_mut_ptr() };
                    let average_place = if average_null { null_mut() } else { average.as_mut_ptr() };
                    // An average of more numbers than there are would be a broken promise.
                    let average_place = if dim > 4 { null_mut() } else { average_place };
                    let status =
                        call!(plim_optimizer_minimize(optimizer, with, data, steps, w_place, average_place, dim));
                    if ![PLIM_OK, PLIM_ERROR_DIVERGED, PLIM_ERROR_CANCELLED].contains(&status) {
                        let same = w.iter().zip(&before).all(|(a, b)| a.to_bits() == b.to_bits());
                        assert!(same, "plim_optimizer_minimize: {status}, but w has changed");
                    } else {
                        assert!(w.iter().all(|w| w.is_finite()), "plim_optimizer_minimize: {status}, w = {w:?}");
                    }
                    assert!(
                        status == PLIM_OK || average.iter().all(|a| a.is_mark()),
                        "{status}: the average has changed"
                    );
                }
            }
        }
    }

    /// A model's parameters are finite, whatever was done to it.
    fn finite(&mut self, model: *const plim_model) {
        let mut values = vec![0f32; plim_model_num_parameters(model)];
        // SAFETY: an array of the length told.
        let status = unsafe { plim_model_get_parameters(model, values.as_mut_ptr(), values.len()) };
        assert!(status != PLIM_OK || values.iter().all(|w| w.is_finite()), "the parameters are not finite: {values:?}");
    }

    fn train(&mut self, function: usize) {
        // SAFETY: as in `graph`.
        unsafe {
            match function {
                56 => {
                    let status = make!(self, Kind::Options, plim_train_options_new());
                    if status == PLIM_OK {
                        let options = without_provenance_mut(self.live[self.live.len() - 1].1);
                        assert_eq!(plim_train_options_set_epochs(options, 1 + self.input.below(3)), PLIM_OK);
                    }
                }
                57 => self.free_one(Kind::Options),
                58 => {
                    let epochs = self.input.below(4);
                    set!(self, Kind::Options, plim_train_options_set_epochs(epochs));
                }
                59 => {
                    let size = self.size(6);
                    set!(self, Kind::Options, plim_train_options_set_batch_size(size));
                }
                60 => {
                    let seed = self.input.word();
                    set!(self, Kind::Options, plim_train_options_set_seed(seed));
                }
                61 => {
                    let on = self.constant(1);
                    set!(self, Kind::Options, plim_train_options_set_restore_best(on));
                }
                62 => {
                    let epochs = self.size(3);
                    set!(self, Kind::Options, plim_train_options_set_patience(epochs));
                }
                63 => {
                    let epochs = self.size(3);
                    set!(self, Kind::Options, plim_train_options_set_evaluate_every(epochs));
                }
                64 => {
                    let (path, every) = (self.path(), self.size(2));
                    set!(self, Kind::Options, plim_train_options_set_checkpoint(pointer(&path), every));
                }
                65 => {
                    let path = self.path();
                    set!(self, Kind::Options, plim_train_options_set_resume(pointer(&path)));
                }
                66 => {
                    let (delta, every) = (self.real(), self.size(3));
                    let (smallest, largest) = (self.size(4), self.size(16));
                    set!(self, Kind::Options, plim_train_options_set_adaptive(delta, every, smallest, largest));
                }
                67 => {
                    let (with, data) = self.progress();
                    set!(self, Kind::Options, plim_train_options_set_progress(with, data));
                }
                68 => {
                    let (model, graph) = (self.pick::<plim_model>(Kind::Model), self.pick::<plim_graph>(Kind::Graph));
                    let (estimator, optimizer) = (self.pick(Kind::Estimator), self.pick(Kind::Optimizer));
                    let options = self.pick(Kind::Options);
                    self.context.model.set(model.addr());
                    self.context.graph.set(graph.addr());
                    self.context.answer.set(i32::from(self.input.byte() > 0xe0));
                    make!(self, Kind::History, plim_train(model, graph, estimator, optimizer, options));
                    self.finite(model);
                }
                69 => {
                    let history = self.pick::<plim_history>(Kind::History);
                    assert!(plim_history_best_epoch(history) <= plim_history_num_epochs(history));
                }
                70 => {
                    let history = self.pick::<plim_history>(Kind::History);
                    let column = self.constant(7);
                    fill!(self, plim_history_num_epochs(history), plim_history_copy(history, column));
                }
                _ => self.free_one(Kind::History),
            }
        }
    }

    fn progress(&mut self) -> (plim_progress_fn, *mut c_void) {
        match self.input.byte() {
            0xe0.. => (None, null_mut()),
            _ => (Some(progress), self.user_data()),
        }
    }

    fn theory(&mut self, function: usize) {
        let [a, b, c, d] = std::array::from_fn(|_| self.real());
        let t = self.size(200);
        // SAFETY: as in `graph`.
        unsafe {
            match function {
                72 => number!(self, plim_bound_strongly_convex_iterate(a, b, c, t)),
                73 => number!(self, plim_bound_strongly_convex_average(a, b, c, t)),
                74 => number!(self, plim_bound_strongly_convex_value(a, b, c, d, t)),
                75 => {
                    let e = self.real();
                    number!(self, plim_bound_constant_step(a, b, c, d, t, e));
                }
                76 => number!(self, plim_bound_convex_average(a, b, c, d, t)),
                77 => number!(self, plim_bound_nonconvex_gradient(a, b, c, d, t)),
                78 => {
                    let len = self.input.below(6);
                    let deltas: Vec<f64> = (0..len).map(|_| self.real()).collect();
                    let deltas = self.list(deltas);
                    let t = if deltas.pointer.is_null() { t } else { deltas.len + 1 };
                    number!(self, plim_bound_linear(a, b, deltas.pointer, t, c));
                }
                79 => number!(self, plim_sample_size(a, b, t, c)),
                80 => {
                    let size = self.size(200);
                    number!(self, plim_sample_epsilon(a, b, t, size));
                }
                _ => {
                    let len = self.input.below(5);
                    let mut arrays: [Vec<f64>; 3] = std::array::from_fn(|_| (0..len).map(|_| self.real()).collect());
                    if self.input.byte() < 0xc0 {
                        arrays[0].sort_by(f64::total_cmp);
                    }
                    let size = self.size(200);
                    let [deltas, cs, taus] = arrays.map(|values| self.array(values));
                    number!(self, plim_sample_delta(deltas.pointer, cs.pointer, taus.pointer, len, t, a, size));
                }
            }
        }
    }

    /// Options of a measurement; never NULL where it could begin, since the default is slow.
    fn pick_probe(&mut self) -> *mut plim_probe_options {
        let probe = self.pick::<plim_probe_options>(Kind::Probe);
        if !probe.is_null() {
            return probe;
        }
        self.make_default(Kind::Probe);
        without_provenance_mut(self.live[self.live.len() - 1].1)
    }

    fn measure(&mut self, function: usize) {
        // SAFETY: as in `graph`.
        unsafe {
            match function {
                82 => {
                    let status = make!(self, Kind::Probe, plim_probe_options_new());
                    if status == PLIM_OK {
                        let probe = without_provenance_mut(self.live[self.live.len() - 1].1);
                        assert_eq!(plim_probe_options_set_draws(probe, 2 + self.input.below(12)), PLIM_OK);
                    }
                }
                83 => self.free_one(Kind::Probe),
                84 => {
                    let draws = self.input.below(32);
                    set!(self, Kind::Probe, plim_probe_options_set_draws(draws));
                }
                85 => {
                    let seed = self.input.word();
                    set!(self, Kind::Probe, plim_probe_options_set_seed(seed));
                }
                86 => {
                    let nodes = self.nodes(5);
                    let nodes = self.list(nodes);
                    set!(self, Kind::Probe, plim_probe_options_set_batch(nodes.pointer, nodes.len));
                }
                87 => {
                    let (with, data) = self.progress();
                    set!(self, Kind::Probe, plim_probe_options_set_progress(with, data));
                }
                88 | 89 => {
                    let (estimator, model) = (self.pick(Kind::Estimator), self.pick::<plim_model>(Kind::Model));
                    let (graph, probe) = (self.pick::<plim_graph>(Kind::Graph), self.pick_probe());
                    let (sizes, deltas) = self.sizes_and_deltas();
                    self.context.model.set(model.addr());
                    self.context.graph.set(graph.addr());
                    if function == 89 {
                        make!(
                            self,
                            Kind::Tail,
                            plim_tail_new(
                                estimator,
                                model,
                                graph,
                                sizes.pointer,
                                sizes.len,
                                deltas.pointer,
                                deltas.len,
                                probe
                            )
                        );
                        return;
                    }
                    let mut room = self.room::<f64>(sizes.len.min(2) * deltas.len.min(2));
                    let (to, told) = (room.pointer(), room.told);
                    let status = call!(plim_tail_probability(
                        estimator,
                        model,
                        graph,
                        sizes.pointer,
                        sizes.len,
                        deltas.pointer,
                        deltas.len,
                        probe,
                        to,
                        told
                    ));
                    room.check("plim_tail_probability", status);
                }
                90 => {
                    let tail = self.pick(Kind::Tail);
                    let what = self.constant(5);
                    // How many it gives is not told beforehand: at most two sizes times two deltas.
                    let mut values = [f64::MARK; 4];
                    let told = if self.input.byte() < 0xc0 { 4 } else { 0 };
                    let to = values.as_mut_ptr();
                    let status = call!(plim_tail_copy(tail, what, to, told));
                    assert!(status == PLIM_OK || values.iter().all(|x| x.is_mark()), "plim_tail_copy: {status}");
                }
                91 => {
                    let tail = self.pick::<plim_tail>(Kind::Tail);
                    let live = self.live.contains(&(Kind::Tail, tail.addr()));
                    assert_eq!(plim_tail_norm(tail) > 0.0, live, "the norm is {}", plim_tail_norm(tail));
                }
                92 => self.free_one(Kind::Tail),
                93 => {
                    let len = self.input.below(6);
                    let sizes: Vec<usize> = (0..len).map(|_| self.size(20)).collect();
                    let shares: Vec<f64> = (0..len).map(|_| self.real()).collect();
                    let (sizes, shares) = (self.array(sizes), self.array(shares));
                    let draws = self.input.one_of(&[0, 1, 100, 10_000, usize::MAX]);
                    let mut out = [f64::MARK; 3];
                    let wanted = self.input.byte();
                    let at = out.as_mut_ptr();
                    let place = |i: usize| if wanted >> i & 1 == 0 { at.add(i) } else { null_mut() };
                    let status =
                        call!(plim_tail_fit(sizes.pointer, shares.pointer, len, draws, place(0), place(1), place(2)));
                    assert!(status == PLIM_OK || out.iter().all(|x| x.is_mark()), "plim_tail_fit: {status}");
                }
                94 => {
                    let (estimator, model) = (self.pick(Kind::Estimator), self.pick::<plim_model>(Kind::Model));
                    let (graph, probe) = (self.pick::<plim_graph>(Kind::Graph), self.pick_probe());
                    let (delta, epsilon, t) = (self.real(), self.real(), self.size(20));
                    self.context.model.set(model.addr());
                    self.context.graph.set(graph.addr());
                    make!(self, Kind::Plan, plim_plan_new(estimator, model, graph, delta, epsilon, t, probe));
                }
                95 => {
                    let plan = self.pick::<plim_plan>(Kind::Plan);
                    let live = self.live.contains(&(Kind::Plan, plan.addr()));
                    assert_eq!(plim_plan_num_sizes(plan) > 0, live);
                    assert!([0, 1].contains(&plim_plan_pays(plan)));
                }
                96 => {
                    let plan = self.pick::<plim_plan>(Kind::Plan);
                    fill!(self, plim_plan_num_sizes(plan), plim_plan_copy_sizes(plan));
                }
                97 => {
                    let (plan, what) = (self.pick(Kind::Plan), self.constant(9));
                    number!(self, plim_plan_get(plan, what));
                }
                98 => {
                    let plan = self.pick(Kind::Plan);
                    let mut text = [c_char::MARK; PLIM_PLAN_TEXT_SIZE];
                    let told = self.input.one_of(&[PLIM_PLAN_TEXT_SIZE, PLIM_PLAN_TEXT_SIZE, 0, 1, 40]);
                    let to = text.as_mut_ptr();
                    let status = call!(plim_plan_describe(plan, to, told));
                    match status {
                        PLIM_OK => assert!(CStr::from_ptr(text.as_ptr()).to_bytes().len() < told),
                        _ => assert!(text.iter().all(|x| x.is_mark()), "plim_plan_describe: {status}"),
                    }
                }
                99 => self.free_one(Kind::Plan),
                _ => {
                    let status = self.constant(14);
                    for text in [plim_version(), plim_isa(), plim_last_error(), plim_status_name(status)] {
                        assert!(CStr::from_ptr(text).to_str().is_ok());
                    }
                }
            }
        }
    }
}

fn pointer(path: &Option<CString>) -> *const c_char {
    path.as_ref().map_or(null(), |path| path.as_ptr())
}
