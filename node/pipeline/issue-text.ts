import { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** What is wrong with a value, in plain words; undefined leaves it to the library. */
function issueText(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected] === undefined ? undefined : `must be ${KINDS[issue.expected]}`;
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return bound(issue.origin, 'at least', Number(issue.minimum), issue.inclusive);
    case 'too_big':
      return bound(issue.origin, 'at most', Number(issue.maximum), issue.inclusive);
    default:
      return undefined;
  }
}

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
};

function bound(origin: string, limit: string, value: number, inclusive: boolean | undefined): string {
  if (inclusive === false) return `must be ${limit === 'at least' ? 'more' : 'less'} than ${value}`;
  const unit = UNITS[origin];
  if (unit === undefined) return `must be ${limit} ${value}`;
  return `must have ${limit} ${value} ${value === 1 ? unit[0] : unit[1]}`;
}

/** Makes the schemas use the service's own wording; a schema's own message takes precedence. */
export function usePlainWords(): void {
  z.config({ customError: issueText });
}
