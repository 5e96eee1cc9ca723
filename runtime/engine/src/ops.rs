//! The native functions that `js/host.js` is built on.
//!
//! This file is compiled twice: into the build script, which makes the snapshot, and into the crate. The list of ops and their order must
//! be the same in both, which one shared file guarantees. It must never learn what the calls mean; that is `OpSink`'s business.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use deno_core::{OpState, op2, v8};

use crate::fault::JsFault;

/// Where the ops deliver; one per isolate, put into `OpState` by the isolate's thread.
pub(crate) trait OpSink {
    /// A host-to-isolate call settled with JSON text, or with `undefined`.
    fn call_done(&self, id: u32, value: Option<String>);
    /// A host-to-isolate call threw or rejected.
    fn call_failed(&self, id: u32, fault: JsFault);
    /// `hostCall`: the answer in the envelope that `js/host.js` opens.
    fn host_call(&self, method: &str, args: &str) -> String;
    /// `hostCallAsync`: the same, later.
    fn host_call_async(
        &self,
        method: String,
        args: String,
    ) -> Pin<Box<dyn Future<Output = String>>>;
    /// The URL of the host module that `require(specifier)` means, if the host provides it.
    fn host_module(&self, specifier: &str) -> Option<String>;
    /// The code asks to end the process; the fault carries the place.
    fn exiting(&self, fault: JsFault);
    /// An exception or rejection that nothing caught.
    fn uncaught(&self, kind: &str, fault: JsFault);
}

fn sink(state: &OpState) -> Rc<dyn OpSink> {
    state.borrow::<Rc<dyn OpSink>>().clone()
}

#[op2]
fn op_pier_call_done(state: &mut OpState, #[smi] id: u32, #[string] value: Option<String>) {
    sink(state).call_done(id, value);
}

#[op2(fast, reentrant)]
fn op_pier_call_failed<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: Rc<RefCell<OpState>>,
    #[smi] id: u32,
    error: v8::Local<'s, v8::Value>,
) {
    let fault = JsFault::from_exception(scope, error);
    let sink = sink(&state.borrow());
    sink.call_failed(id, fault);
}

#[op2]
#[string]
fn op_pier_host_call(
    state: Rc<RefCell<OpState>>,
    #[string] method: &str,
    #[string] args: &str,
) -> String {
    let sink = sink(&state.borrow());
    sink.host_call(method, args)
}

#[op2]
#[string]
async fn op_pier_host_call_async(
    state: Rc<RefCell<OpState>>,
    #[string] method: String,
    #[string] args: String,
) -> String {
    let future = sink(&state.borrow()).host_call_async(method, args);
    future.await
}

#[op2]
#[string]
fn op_pier_host_module(state: &mut OpState, #[string] specifier: &str) -> Option<String> {
    sink(state).host_module(specifier)
}

#[op2(fast, reentrant)]
fn op_pier_uncaught<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: Rc<RefCell<OpState>>,
    #[string] kind: &str,
    error: v8::Local<'s, v8::Value>,
) {
    let fault = JsFault::from_exception(scope, error);
    let sink = sink(&state.borrow());
    sink.uncaught(kind, fault);
}

#[op2(fast, reentrant)]
fn op_pier_exiting<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: Rc<RefCell<OpState>>,
    error: v8::Local<'s, v8::Value>,
) {
    let fault = JsFault::from_exception(scope, error);
    let sink = sink(&state.borrow());
    sink.exiting(fault);
}

deno_core::extension!(
    pier,
    ops = [
        op_pier_call_done,
        op_pier_call_failed,
        op_pier_host_call,
        op_pier_host_call_async,
        op_pier_host_module,
        op_pier_uncaught,
        op_pier_exiting,
    ],
);
