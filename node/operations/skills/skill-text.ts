import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { utf8Bytes } from '../../../protocol/base/utf8.js';
import * as limits from '../../../protocol/skills/limits.js';
import {
  bodyOf,
  bodyProblem,
  manifestOf,
  type SkillText,
  wrongSkillText as wrong,
} from '../../../protocol/skills/manifest.js';
import { readFrontMatter } from './front-matter.js';

/** Takes a SKILL.md apart. VALIDATION_FAILED names the key that is missing or wrong. */
export async function readSkillText(text: string): Promise<Result<SkillText>> {
  if (!text.isWellFormed()) return wrong('SKILL.md', 'must be valid Unicode text');
  const lines = text.replace(/^\ufeff/, '').split('\n');
  const isFence = (line: string) => /^---[ \t\r]*$/.test(line);
  if (!isFence(lines[0]!)) return wrong('SKILL.md', 'must begin with a line of three dashes');
  const end = lines.findIndex((line, at) => at > 0 && isFence(line));
  if (end < 0) return wrong('SKILL.md', 'has no second line of three dashes, which ends its front matter');
  const front = lines.slice(1, end).join('\n');
  if (utf8Bytes(front) > limits.FRONT_MATTER_BYTES_MAX)
    return wrong('front matter', `must be at most ${limits.FRONT_MATTER_BYTES_MAX} bytes`);
  const read = await readFrontMatter(front);
  if (!read.ok) return wrong('front matter', read.problem);
  const manifest = manifestOf(read.members);
  if (!manifest.ok) return failed(manifest.error);
  const body = bodyOf(lines.slice(end + 1).join('\n'));
  const problem = bodyProblem(body);
  return problem === null ? ok({ manifest: manifest.value, body }) : wrong('body', problem);
}
