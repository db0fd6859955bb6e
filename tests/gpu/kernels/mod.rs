//! Every kernel on random data against the function of the CPU reference, or its definition in `f64`.

mod attention;
mod bindings;
mod decode;
mod delta;
mod dense;
mod expert_products;
mod experts;
mod kv;
mod matmul;
mod matvec;
mod norm;
