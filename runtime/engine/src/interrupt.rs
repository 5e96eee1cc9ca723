//! Stops code that will not stop by itself, and notes where it was.
//!
//! V8 runs the interrupt on the isolate's thread at the next stack check of its JavaScript. Nothing in it may run JavaScript or ops.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use deno_core::v8;

use crate::error::StopReason;
use crate::fault::Location;
use crate::shared::Shared;

/// How long the interrupt may take before the isolate is stopped without a place: its thread is in a blocking system call.
pub(crate) const PATIENCE: Duration = Duration::from_millis(300);

/// Frames looked at for one in a file of the extension.
const FRAMES: usize = 50;

thread_local! {
    /// The context of the isolate on this thread: an interrupt is given none.
    static CONTEXT: RefCell<Option<v8::Global<v8::Context>>> = const { RefCell::new(None) };
}

/// Tells interrupts on this thread the isolate's context; `None` before the isolate is dropped.
pub(crate) fn set_context(context: Option<v8::Global<v8::Context>>) {
    CONTEXT.set(context);
}

struct Request {
    shared: Arc<Shared>,
    reason: StopReason,
}

/// Asks the isolate to stop for `reason` at its current place. The caller must stop it plainly if it has not after [`PATIENCE`].
pub(crate) fn request(shared: &Arc<Shared>, reason: StopReason) {
    let Some(v8) = shared.v8_handle() else {
        shared.stop(reason);
        return;
    };
    let request = Box::into_raw(Box::new(Request {
        shared: shared.clone(),
        reason,
    }));
    if !v8.request_interrupt(on_interrupt, request.cast::<c_void>()) {
        // SAFETY: V8 did not take the pointer, so this is its only owner.
        drop(unsafe { Box::from_raw(request) });
    }
}

extern "C" fn on_interrupt(isolate: v8::UnsafeRawIsolatePtr, data: *mut c_void) {
    // SAFETY: `data` comes from `request`, and V8 calls an interrupt once.
    let Request { shared, reason } = *unsafe { Box::from_raw(data.cast::<Request>()) };
    // SAFETY: V8 passes the isolate that is entered on this thread.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    let at = current_place(&mut isolate, &shared);
    shared.stop(reason.at(at));
}

fn current_place(isolate: &mut v8::Isolate, shared: &Shared) -> Option<Location> {
    let context = CONTEXT.with_borrow(Clone::clone)?;
    v8::scope!(let scope, isolate);
    let context = v8::Local::new(scope, context);
    let scope = &mut v8::ContextScope::new(scope, context);
    let stack = v8::StackTrace::current_stack_trace(scope, FRAMES)?;
    let mut place: Option<Location> = None;
    for index in 0..stack.get_frame_count() {
        let Some(frame) = stack.get_frame(scope, index) else {
            continue;
        };
        let Some(name) = frame.get_script_name(scope) else {
            continue;
        };
        let name = name.to_rust_string_lossy(scope);
        let position = (
            u32::try_from(frame.get_line_number()),
            u32::try_from(frame.get_column()),
        );
        let (Ok(line), Ok(column)) = position else {
            continue;
        };
        let Some(found) = shared.source_maps.locate(&name, line, column) else {
            continue;
        };
        if !found.file.contains("/node_modules/") {
            return Some(found);
        }
        place.get_or_insert(found);
    }
    place
}
