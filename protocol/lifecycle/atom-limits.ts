/** Atoms of one memory. */
export const ATOMS_MIN = 2;
export const ATOMS_MAX = 10;
/** How often an atom is split again: an atom of an atom of an atom is the last one. */
export const ATOM_DEPTH_MAX = 3;
/** Tokens of an atom. */
export const ATOM_TOKENS_MIN = 50;
export const ATOM_TOKENS_MAX = 1000;
export const ATOM_TOKENS = 200;
