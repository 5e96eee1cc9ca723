//! Memory of array buffers, counted: V8's heap limit does not cover it. A buffer that would pass the limit is refused, which V8 turns into a
//! garbage collection and, if that frees too little, into a `RangeError` in the code.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deno_core::v8;

struct Budget {
    limit: usize,
    used: AtomicUsize,
}

/// An allocator for one isolate whose buffers together take at most `limit` bytes.
pub(crate) fn allocator(limit: usize) -> v8::UniqueRef<v8::Allocator> {
    static VTABLE: v8::RustAllocatorVtable<Budget> = v8::RustAllocatorVtable {
        allocate,
        allocate_uninitialized,
        free,
        drop: release,
    };
    let budget = Arc::new(Budget {
        limit,
        used: AtomicUsize::new(0),
    });
    // SAFETY: the functions below treat the handle as the pointer of this Arc, and `release` takes it back exactly once.
    unsafe { v8::new_rust_allocator(Arc::into_raw(budget), &VTABLE) }
}

impl Budget {
    fn take(&self, bytes: usize) -> bool {
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|sum| *sum <= self.limit)
            })
            .is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Memory from `allocate`, or null without anything taken.
    fn allocate(&self, bytes: usize, allocate: impl FnOnce(usize) -> *mut c_void) -> *mut c_void {
        if !self.take(bytes) {
            return std::ptr::null_mut();
        }
        // Of no bytes at all the C library may return null, which V8 would take for a failure.
        let data = allocate(bytes.max(1));
        if data.is_null() {
            self.give_back(bytes);
        }
        data
    }
}

unsafe extern "C" fn allocate(budget: &Budget, bytes: usize) -> *mut c_void {
    // SAFETY: plain allocation.
    budget.allocate(bytes, |bytes| unsafe { libc::calloc(bytes, 1) })
}

unsafe extern "C" fn allocate_uninitialized(budget: &Budget, bytes: usize) -> *mut c_void {
    // SAFETY: plain allocation.
    budget.allocate(bytes, |bytes| unsafe { libc::malloc(bytes) })
}

unsafe extern "C" fn free(budget: &Budget, data: *mut c_void, bytes: usize) {
    // SAFETY: V8 returns what one of the functions above gave it, once.
    unsafe { libc::free(data) };
    budget.give_back(bytes);
}

unsafe extern "C" fn release(budget: *const Budget) {
    // SAFETY: the pointer comes from `Arc::into_raw` in `allocator`.
    drop(unsafe { Arc::from_raw(budget) });
}
