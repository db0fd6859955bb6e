//! The model file: what opens, what comes back, and what is said of files that are not right.

mod damage;
mod fixtures;
mod raw;
mod reading;
mod refusals;
mod round_trip;
mod splits;
