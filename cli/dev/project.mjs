import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The top folder of the project. */
export const PROJECT = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** A path from the top of the project. */
export const at = (...parts) => join(PROJECT, ...parts);

/**
 * Progress goes to standard error, so that standard output carries only the output of the program that a script runs.
 */
export const say = (text) => process.stderr.write(`${text}\n`);
