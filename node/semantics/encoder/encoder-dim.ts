/** Numbers of a vector of the built-in encoder. */
export const ENCODER_DIM = 512;
