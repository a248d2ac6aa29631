//! Generations, names, coordinates.
