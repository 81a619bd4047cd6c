/** The longest cursor of a page that is looked at; those that are given out are shorter. */
export const CURSOR_LENGTH_MAX = 512;
