//! The operations of the model, one file each, with its formula.
//!
//! All are plain `f32`. Every sum has one order, whatever the number of rows or threads, so that a row's bytes depend
//! on nothing but its own inputs. Shapes are written (outer, .., contiguous).

pub mod attention;
pub mod convolution;
pub mod delta_rule;
mod dot;
pub mod elementwise;
pub mod experts;
pub mod matmul;
pub mod norm;
pub mod rotary;
pub mod select;
