//! Renderings of experiments.
