import type { OpenQuestion } from './questions.js';

/** A question as listeners of the stream of approvals get it: without an id, because the stream cannot repeat it. */
export function questionFrame({ command: _program, ...question }: OpenQuestion): Uint8Array {
  const data = JSON.stringify({ event: 'hook_question', ...question });
  return new TextEncoder().encode(`event: hook_question\ndata: ${data}\n\n`);
}
