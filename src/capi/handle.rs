//! The table of live handles. A handle is a slot and a generation in the form of a pointer. It is looked up and never
//! dereferenced, so a freed, foreign or mistyped handle is an error and not undefined behaviour.

use super::{fork as forking, torture};
use crate::error::{Error, ForThe, Result, check_memory};
use crate::fork;
use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a handle holds a slot and a generation in 64 bits");

/// A type whose objects have handles.
pub trait Object: Send + Sync + Sized + 'static {
    /// The name of its C type, for messages.
    const NAME: &'static str;
    /// What getters return. Stored beside the object, so that getters never wait for it.
    type Facts: Copy + Default + Send + Sync;
    /// The current facts.
    fn facts(&self) -> Self::Facts;
}

/// An object that calls share: many readers or one writer. No call waits; the one that comes too late fails with `Busy`.
///
/// A change takes two steps: the claim, which one call at a time holds and which excludes other changes, and the lock,
/// which excludes readers too. A long call holds its claim throughout and releases the lock while a callback runs.
pub struct Shared<T: Object> {
    facts: Mutex<T::Facts>,
    claimed: AtomicBool,
    object: RwLock<T>,
}

impl<T: Object> Shared<T> {
    /// What getters return.
    pub fn facts(&self) -> T::Facts {
        *fork::lock(&self.facts)
    }

    /// Shared access.
    pub fn read(&self) -> Result<RwLockReadGuard<'_, T>> {
        let object = self.object.try_read().map_err(refusal::<T, _>)?;
        torture::point();
        Ok(object)
    }

    /// Exclusive access.
    pub fn write(&self) -> Result<Writing<'_, T>> {
        self.claim()?.write()
    }

    /// Excludes other changes until the claim is dropped.
    pub fn claim(&self) -> Result<Claim<'_, T>> {
        match self.claimed.swap(true, Ordering::Acquire) {
            true => Err(refusal::<T, ()>(TryLockError::WouldBlock)),
            false => Ok(Claim(self)),
        }
    }
}

/// The exclusive right to change an object, until it is dropped.
pub struct Claim<'a, T: Object>(&'a Shared<T>);

impl<T: Object> Drop for Claim<'_, T> {
    fn drop(&mut self) {
        self.0.claimed.store(false, Ordering::Release);
    }
}

impl<'a, T: Object> Claim<'a, T> {
    /// Excludes readers too. Fails while there are any.
    pub fn write(self) -> Result<Writing<'a, T>> {
        let object = self.0.object.try_write().map_err(refusal::<T, _>)?;
        let writing = Writing { object: Some(object), claim: self };
        torture::point();
        Ok(writing)
    }
}

fn refusal<T: Object, G>(error: TryLockError<G>) -> Error {
    match error {
        TryLockError::Poisoned(_) => {
            Error::Poisoned(format!("an earlier internal error left this {} unusable; free it", T::NAME))
        }
        TryLockError::WouldBlock => Error::Busy(format!("another call is using this {}", T::NAME)),
    }
}

/// Exclusive access to an object. The facts are updated when it ends.
pub struct Writing<'a, T: Object> {
    /// `None` only while [`Writing::released`] runs.
    object: Option<RwLockWriteGuard<'a, T>>,
    // Declared last and so dropped last: no other call may claim an object that is still locked.
    claim: Claim<'a, T>,
}

impl<T: Object> Writing<'_, T> {
    /// Admits readers while `work` runs, then waits until they have finished. Other changes remain excluded.
    pub fn released<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.end();
        let result = work();
        self.object = Some(self.claim.0.object.write().unwrap_or_else(PoisonError::into_inner));
        result
    }

    fn end(&mut self) {
        if let Some(object) = self.object.take() {
            let facts = object.facts();
            drop(object);
            *fork::lock(&self.claim.0.facts) = facts;
        }
    }
}

impl<T: Object> Deref for Writing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.object.as_ref().expect("locked outside `released`")
    }
}

impl<T: Object> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.object.as_mut().expect("locked outside `released`")
    }
}

impl<T: Object> Drop for Writing<'_, T> {
    fn drop(&mut self) {
        // After a panic only the lock's guard is dropped, which poisons the lock. The facts do not change.
        if !std::thread::panicking() {
            self.end();
        }
    }
}

/// A live object of any type.
trait Live: Any + Send + Sync {
    fn name(&self) -> &'static str;
}

impl<T: Object> Live for Shared<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }
}

/// All slots. A slot is reused after its object is gone, with the next generation.
pub struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

struct Slot {
    generation: u64,
    object: Option<Arc<dyn Live>>,
}

static TABLE: RwLock<Table> = RwLock::new(Table { slots: Vec::new(), free: Vec::new() });

// The bits of a handle: 16 that no address of a user program has, 24 for the generation, 23 for the slot, and a 1 that no
// aligned pointer has.
const MARK: u64 = 0x506c << 48;
const GENERATION_BITS: u32 = 24;
const SLOT_BITS: u32 = 23;

fn encode(slot: usize, generation: u64) -> usize {
    (MARK | generation << (SLOT_BITS + 1) | (slot as u64) << 1 | 1) as usize
}

fn decode(handle: usize) -> Option<(usize, u64)> {
    let handle = handle as u64;
    if handle & 0xffff << 48 != MARK || handle & 1 == 0 {
        return None;
    }
    let slot = handle >> 1 & ((1 << SLOT_BITS) - 1);
    let generation = handle >> (SLOT_BITS + 1) & ((1 << GENERATION_BITS) - 1);
    Some((slot as usize, generation))
}

/// Locks the table for `fork`.
pub fn lock_table() -> RwLockWriteGuard<'static, Table> {
    TABLE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Stores `object` and returns its handle.
pub fn insert<T: Object>(object: T) -> Result<usize> {
    let facts = Mutex::new(object.facts());
    let shared = Arc::new(Shared { facts, claimed: AtomicBool::new(false), object: RwLock::new(object) });
    forking::watch();
    let mut table = lock_table();
    torture::point();
    // An object that outlives the call must not use the memory reserve.
    check_memory().for_the("handle")?;
    let slot = match table.free.pop() {
        Some(slot) => slot,
        None => {
            if table.slots.len() >> SLOT_BITS != 0 {
                return Err(Error::OutOfMemory(
                    format!("cannot make another handle: {} are live", table.slots.len()).into(),
                ));
            }
            crate::error::try_reserve(&mut table.slots, 1, "table of handles")?;
            table.slots.push(Slot { generation: 0, object: None });
            // Room to list every slot as free, so that freeing never allocates.
            let total = table.slots.len();
            let noted = table.free.len();
            crate::error::try_reserve(&mut table.free, total - noted, "table of handles")?;
            total - 1
        }
    };
    table.slots[slot].object = Some(shared);
    Ok(encode(slot, table.slots[slot].generation))
}

/// The object of a handle. Errors name `argument`.
pub fn get<T: Object>(argument: &str, handle: usize) -> Result<Arc<Shared<T>>> {
    let not_live = || Error::InvalidHandle(format!("{argument} = {handle:#x} is not a live {} handle", T::NAME));
    let object = {
        let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
        torture::point();
        let (slot, generation) = decode(handle).ok_or_else(not_live)?;
        let slot = table.slots.get(slot).filter(|s| s.generation == generation).ok_or_else(not_live)?;
        Arc::clone(slot.object.as_ref().ok_or_else(not_live)?)
    };
    let name = object.name();
    let object: Arc<dyn Any + Send + Sync> = object;
    object.downcast().map_err(|_| Error::InvalidHandle(format!("{argument} is a {name} handle, not a {} one", T::NAME)))
}

/// Frees a handle. The object is dropped when the last call that uses it returns. A handle that is not live is ignored.
pub fn remove<T: Object>(handle: usize) {
    if get::<T>("", handle).is_err() {
        return;
    }
    let Some((slot, generation)) = decode(handle) else {
        return;
    };
    let object = {
        let mut table = lock_table();
        if table.slots[slot].generation != generation {
            return;
        }
        table.slots[slot].generation += 1;
        // A slot without further generations is never used again.
        if table.slots[slot].generation >> GENERATION_BITS == 0 {
            table.free.push(slot);
        }
        table.slots[slot].object.take()
    };
    drop(object);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Number(u32);
    struct Word;

    impl Object for Number {
        const NAME: &'static str = "number";
        type Facts = u32;

        fn facts(&self) -> u32 {
            self.0
        }
    }

    impl Object for Word {
        const NAME: &'static str = "word";
        type Facts = ();

        fn facts(&self) {}
    }

    fn text<T>(result: Result<T>) -> String {
        result.err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_handle_finds_its_object_and_no_other() {
        let (one, two) = (insert(Number(1)).unwrap(), insert(Number(2)).unwrap());
        assert_eq!(get::<Number>("n", one).unwrap().read().unwrap().0, 1);
        assert_eq!(get::<Number>("n", two).unwrap().read().unwrap().0, 2);
        remove::<Number>(one);
        remove::<Number>(two);
    }

    #[test]
    fn a_freed_handle_stays_dead_when_its_slot_is_used_again() {
        let first = insert(Number(1)).unwrap();
        remove::<Number>(first);
        let others: Vec<_> = (0..100).map(|i| insert(Number(i)).unwrap()).collect();
        assert!(matches!(get::<Number>("n", first), Err(Error::InvalidHandle(_))));
        remove::<Number>(first); // a second time has no effect
        others.iter().for_each(|&h| assert!(get::<Number>("n", h).is_ok()));
        others.into_iter().for_each(remove::<Number>);
    }

    #[test]
    fn a_handle_of_another_type_or_from_elsewhere_is_refused_by_name() {
        let word = insert(Word).unwrap();
        assert_eq!(text(get::<Number>("n", word)), "n is a word handle, not a number one");
        remove::<Number>(word);
        assert!(get::<Word>("w", word).is_ok(), "freeing as another type must do nothing");
        let local = 0u64;
        for foreign in [0, 1, 0xdead_beef, usize::MAX, word ^ 1, word + (1 << 40), (&raw const local).addr()] {
            assert!(matches!(get::<Word>("w", foreign), Err(Error::InvalidHandle(_))), "{foreign:#x}");
        }
        remove::<Word>(word);
    }

    #[test]
    fn readers_share_and_a_writer_is_alone() {
        let handle = insert(Number(1)).unwrap();
        let number = get::<Number>("n", handle).unwrap();
        {
            let (_first, _second) = (number.read().unwrap(), number.read().unwrap());
            assert!(matches!(number.write(), Err(Error::Busy(_))));
        }
        {
            let mut writing = number.write().unwrap();
            writing.0 = 5;
            assert!(matches!(number.read(), Err(Error::Busy(_))));
            assert_eq!(number.facts(), 1, "a getter never waits: it returns the value before the change");
        }
        assert_eq!(number.facts(), 5);
        remove::<Number>(handle);
        assert_eq!(number.read().unwrap().0, 5, "an object lives until its last user is done");
    }

    #[test]
    fn readers_get_in_while_a_writer_lets_go_and_other_writers_do_not() {
        let handle = insert(Number(1)).unwrap();
        let number = get::<Number>("n", handle).unwrap();
        let mut writing = number.write().unwrap();
        writing.0 = 2;
        let seen = writing.released(|| {
            assert!(matches!(number.write(), Err(Error::Busy(_))));
            assert_eq!(number.facts(), 2);
            number.read().unwrap().0
        });
        assert_eq!(seen, 2);
        assert!(matches!(number.read(), Err(Error::Busy(_))));
        drop(writing);
        assert!(number.write().is_ok());
        remove::<Number>(handle);
    }

    #[test]
    fn a_panic_while_changing_an_object_poisons_it_and_it_can_still_be_freed() {
        let handle = insert(Number(1)).unwrap();
        let body = || -> Result<()> {
            let number = get::<Number>("n", handle)?;
            let _writing = number.write()?;
            panic!("half done");
        };
        assert_eq!(super::super::guard::guard(body), super::super::status::PLIM_ERROR_INTERNAL);
        let number = get::<Number>("n", handle).unwrap();
        assert!(matches!(number.read(), Err(Error::Poisoned(_))));
        assert!(matches!(number.write(), Err(Error::Poisoned(_))));
        assert_eq!(number.facts(), 1);
        remove::<Number>(handle);
        assert!(get::<Number>("n", handle).is_err());
    }

    #[test]
    fn a_slot_whose_generations_are_used_up_is_retired() {
        let handle = insert(Number(1)).unwrap();
        let (slot, _) = decode(handle).unwrap();
        let last = (1 << GENERATION_BITS) - 1;
        TABLE.write().unwrap().slots[slot].generation = last;
        let handle = encode(slot, last);
        assert!(get::<Number>("n", handle).is_ok());
        remove::<Number>(handle);
        let others: Vec<_> = (0..100).map(|i| insert(Number(i)).unwrap()).collect();
        assert!(others.iter().all(|&h| decode(h).unwrap().0 != slot));
        others.into_iter().for_each(remove::<Number>);
    }
}
