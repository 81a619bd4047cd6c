import { z } from 'zod';
import { NAMESPACE_LENGTH_MAX, PAGE_SIZE_MAX } from '../../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { type FindRecords, rowsOf } from '../../../protocol/kinds/find.js';
import { SKILL_DESCRIPTION_LENGTH_MAX } from '../../../protocol/skills/limits.js';
import { byAge } from '../../../protocol/skills/register-skill.js';
import { type Skill, skillKind } from '../../../protocol/skills/skill-kind.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { afterMark, markOf, pageEnd } from '../coordination/list-page.js';
import { isItsOwnHead } from './read-skill.js';
import { skillSummary, summaryOf } from './skill-fields.js';

const input = z.object({
  namespace: z
    .string()
    .max(NAMESPACE_LENGTH_MAX)
    .default('%')
    .describe('Only skills of this namespace; % stands for any text and _ for any character'),
  filter: z
    .string()
    .max(SKILL_DESCRIPTION_LENGTH_MAX)
    .default('')
    .describe('Only skills with this text in their name or description'),
  limit: fields.listLimit(PAGE_SIZE_MAX, PAGE_SIZE_MAX, 'skills'),
  after: afterMark.optional(),
});

/** Lists the newest versions of skills (interface §4.12, reference-http §3.10). */
export const memorySkillList = defineOperation({
  name: 'memory_skill_list',
  family: 'other',
  summary: 'List the skills that the caller sees, each in its newest version.',
  input,
  output: z.object({ count: z.int(), skills: z.array(z.object(skillSummary)), ...pageEnd }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/skill/list', fields: 'query' }],
  mcp: { description: 'List which skills there are, each in its newest version.' },
  cli: {
    command: 'skill list',
    view: 'object',
    table: { namespace: 'NAMESPACE', name: 'NAME', id: 'ID', description: 'DESCRIPTION' },
    examples: ['skill list', 'skill list --namespace "team/%" --filter deploy --json'],
  },
  run: async (call, asked) => {
    const found = await headsFrom(call, asked);
    if (!found.ok) return failed(found.error);
    const { heads, more } = found.value;
    const last = heads.at(-1);
    return ok({
      count: heads.length,
      skills: heads.map((skill) => summaryOf(skill, call)),
      ...(more && last !== undefined ? { next: markOf([last.head_of, AFTER_ALL_IDS]) } : {}),
    });
  },
});

/** Sorts behind every id, because concurrent versions of one name are one skill of a list. */
const AFTER_ALL_IDS = '\u{10ffff}';
const PAGE_ROWS = 200;

/** The newest versions that match, by namespace and name. */
async function headsFrom(
  { services, caller, now }: ReadCall,
  { namespace, filter, limit, after }: z.output<typeof input>,
): Promise<Result<{ readonly heads: readonly Skill[]; readonly more: boolean }>> {
  const found = new Map<string, Skill>();
  let place: FindRecords['after'] = after;
  do {
    const page = await services.store.query({
      ...{
        kind: 'find-records',
        of: skillKind.name,
        where: { head_of: { after: '' } },
        order: { by: 'head_of' },
      },
      ...{ viewer: caller.viewer, now, limit: PAGE_ROWS, skipDamaged: true },
      ...(place === undefined ? {} : { after: place }),
    });
    if (!page.ok) return failed(page.error);
    for (const skill of rowsOf(skillKind, page.value)) {
      if (!isItsOwnHead(skill) || !isLike(skill.namespace, namespace) || !holds(skill, filter)) continue;
      const other = found.get(skill.head_of!);
      if (other === undefined || byAge(other, skill) < 0) found.set(skill.head_of!, skill);
    }
    place = page.value.next ?? undefined;
  } while (place !== undefined && found.size <= limit);
  const heads = [...found.values()];
  return ok({ heads: heads.slice(0, limit), more: heads.length > limit });
}

function holds({ name, description }: Skill, filter: string): boolean {
  const wanted = filter.toLowerCase();
  return name.includes(wanted) || description.toLowerCase().includes(wanted);
}

/** Whether a text is like a pattern of SQL: `%` stands for any text, `_` for one character; the case of letters does not count. */
export function isLike(text: string, pattern: string): boolean {
  const [given, wanted] = [[...text.toLowerCase()], [...pattern.toLowerCase()]];
  let [at, next, star, from] = [0, 0, -1, 0];
  while (at < given.length) {
    if (
      next < wanted.length &&
      (wanted[next] === '_' || wanted[next] === given[at]) &&
      wanted[next] !== '%'
    ) {
      at += 1;
      next += 1;
    } else if (wanted[next] === '%') {
      star = next;
      from = at;
      next += 1;
    } else if (star >= 0) {
      // The last % takes one character more.
      next = star + 1;
      from += 1;
      at = from;
    } else {
      return false;
    }
  }
  return wanted.slice(next).every((one) => one === '%');
}
