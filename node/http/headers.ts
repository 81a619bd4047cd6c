/** Headers of an answer beyond those that every answer has: name, value, name, value. */
export type ExtraHeaders = readonly string[];
