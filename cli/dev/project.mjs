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

const REMINDER_MS = 8000;

/** Says what is being done, and again while it lasts, so that nobody waits in silence. */
export async function step(task, work) {
  say(`${task} …`);
  const begun = Date.now();
  const reminder = setInterval(
    () => say(`… still ${task}, ${Math.round((Date.now() - begun) / 1000)} s`),
    REMINDER_MS,
  );
  try {
    return await work;
  } finally {
    clearInterval(reminder);
  }
}
