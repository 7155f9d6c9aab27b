#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rdmactl_fuzz::fuzz("escape", data));
