import { storeNamespaceProblem } from '../../protocol/base/ids.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { SourceRow } from './format.js';

/** Characters that a segment of a namespace may not have, or should not. */
const OTHERS = /[^\p{L}\p{N}_.-]+/gu;

/** The namespace of a row: the one of the import, with the folders of the row below it where that is asked. */
export function namespaceFor(
  { place }: Pick<SourceRow, 'place'>,
  { namespace, folders }: { readonly namespace: string; readonly folders: boolean },
): Result<string> {
  if (!folders || place.length === 0) return ok(namespace);
  const below = place.map(segmentOf).filter((segment) => segment !== '');
  const whole = [namespace, ...below].join('/');
  const problem = storeNamespaceProblem(whole);
  return problem === null
    ? ok(whole)
    : fail('VALIDATION_FAILED', `${problem}: its folders are no namespace`, { fields: ['namespace'] });
}

const segmentOf = (name: string): string =>
  name
    .normalize('NFC')
    .replace(OTHERS, '-')
    .replace(/^[-.]+|[-.]+$/g, '');
