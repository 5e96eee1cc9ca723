;; Writes a line to stdout, then exits with 5 + the number of its arguments.
(module
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get"
    (func $args_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 64) "hello from wasi\n")
  (func (export "_start")
    ;; one buffer: address 64, length 16
    (i32.store (i32.const 0) (i32.const 64))
    (i32.store (i32.const 4) (i32.const 16))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (drop (call $args_sizes_get (i32.const 16) (i32.const 20)))
    (call $proc_exit (i32.add (i32.const 5) (i32.load (i32.const 16))))))
