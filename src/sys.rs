//! All `unsafe` code: owned handles over C libraries and device files.
//!
//! Nothing outside sees a pointer, a C enum or an errno number. An absent library, module or
//! device node is an ordinary answer at run time.
