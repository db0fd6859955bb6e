//! The model file (GGUF).
