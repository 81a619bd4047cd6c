import { agentIdProblem } from '../../protocol/base/ids.js';
import { refused } from './client-error.js';

export const RETRIES_MAX = 100;
/** A longer timer would end at once. */
export const TIMEOUT_MS_MAX = 2_147_483_647;

/** A whole number of an option. Throws MnemeshError for another value. */
export function wholeNumber(name: string, value: number, min: number, max: number): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw refused(`${name} must be a whole number from ${min} to ${max}`, [name]);
}

/** The id of an agent, or that there is none. Throws MnemeshError for a text that is no id. */
export function checkedAgent(agentId: string | null): string | null {
  const problem = agentId === null ? null : agentIdProblem(agentId);
  if (problem !== null) throw refused(problem, ['agentId']);
  return agentId;
}

/** Headers that can be sent. Throws MnemeshError for one with other characters than visible ASCII, spaces and tabs. */
export function checkedHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\t\x20-\x7e]*$/.test(value))
      throw refused(`a header cannot carry the value of ${name}: it must be ASCII text in one line`, [name]);
  }
  return headers;
}
