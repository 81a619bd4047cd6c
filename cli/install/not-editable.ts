/** A file is not of the shape that an edit needs. */
export class NotEditableError extends Error {}
