import { hasControlCharacter, isBlank, storeNamespaceProblem } from '../base/ids.js';
import { METADATA_BYTES_MAX } from '../base/limits.js';
import { fail, ok, type Result } from '../base/result.js';
import { characters, utf8Bytes } from '../base/utf8.js';
import { isCount, isObject, isText, isTexts } from '../kinds/payload.js';
import { shallowJson } from '../kinds/replicated-value.js';
import { SCOPES } from '../memory/memory.js';
import * as limits from './limits.js';

/** What the front matter of a SKILL.md says (reference-mcp-cli §6.6). */
export interface Manifest {
  readonly namespace: string;
  readonly name: string;
  readonly description: string;
  readonly license: string | null;
  readonly compatibility: string | null;
  readonly allowed_tools: readonly string[];
  /** All other keys; `composes_with_reflections`, `parameters_schema` and `scope` among them mean something here. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A SKILL.md, taken apart. */
export interface SkillText {
  readonly manifest: Manifest;
  readonly body: string;
}

/** Reflections that a skill is composed with: those of a namespace with at least a depth. */
export interface Composes {
  readonly namespace: string;
  readonly min_depth: number;
}

const NAME = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const OWN = ['namespace', 'name', 'description', 'license', 'compatibility', 'allowed_tools'] as const;
const isMetadata = shallowJson(METADATA_BYTES_MAX);

/** A body without the blank lines before it. */
export const bodyOf = (text: string): string =>
  text.replace(/^(?:[ \t\r]*\n)+/, '').replace(/^[ \t\r]+$/, '');

/** What is wrong with a body; null for a valid one. */
export const bodyProblem = (body: string): string | null =>
  utf8Bytes(body) <= limits.SKILL_BODY_BYTES_MAX
    ? null
    : `must be at most ${limits.SKILL_BODY_BYTES_MAX} bytes`;

/** The manifest that the keys of a front matter make. */
export function manifestOf(members: Readonly<Record<string, unknown>>): Result<Manifest> {
  const { namespace, name, description, license = null, compatibility = null } = members;
  const given = { namespace, name, description, license, compatibility };
  const metadata = Object.fromEntries(
    Object.entries(members).filter(([key]) => !(OWN as readonly string[]).includes(key)),
  );
  const manifest = { ...given, allowed_tools: members['allowed_tools'] ?? [], metadata };
  const problem = manifestProblem(manifest as Manifest);
  return problem === null ? ok(manifest as Manifest) : wrongSkillText(problem[0], problem[1]);
}

/** The first key of a manifest that is wrong, and what is wrong with it; null for a valid one. */
function manifestProblem(manifest: Manifest): readonly [key: string, problem: string] | null {
  const { namespace, name, description, license, compatibility, allowed_tools: tools, metadata } = manifest;
  const place = isText(namespace) ? storeNamespaceProblem(namespace) : 'is required and must be text';
  if (place !== null) return ['namespace', place];
  const named = nameProblem(name);
  if (named !== null) return ['name', named];
  const texts = [
    ['description', description, limits.SKILL_DESCRIPTION_LENGTH_MAX],
    ['license', license, limits.SKILL_LICENSE_LENGTH_MAX],
    ['compatibility', compatibility, limits.SKILL_COMPATIBILITY_LENGTH_MAX],
  ] as const;
  for (const [key, value, max] of texts) {
    if (value === null && key !== 'description') continue;
    const problem = textProblem(value, max);
    if (problem !== null) return [key, problem];
  }
  return toolsProblem(tools) ?? metadataProblem(metadata);
}

/** What is wrong with the name of a skill; null for a valid one. */
export function nameProblem(name: unknown): string | null {
  if (isText(name) && name.length <= limits.SKILL_NAME_LENGTH_MAX && NAME.test(name) && !name.includes('--'))
    return null;
  return `must be 1 to ${limits.SKILL_NAME_LENGTH_MAX} lower-case letters, digits and single hyphens between them`;
}

function textProblem(value: unknown, max: number): string | null {
  if (!isText(value)) return 'must be text; put it into quotes';
  if (isBlank(value) || characters(value) > max) return `must be 1 to ${max} characters`;
  return hasControlCharacter(value, '\n\r\t') ? 'must not hold control characters' : null;
}

function toolsProblem(tools: unknown): readonly [string, string] | null {
  const isTool = (tool: string) =>
    !isBlank(tool) && !hasControlCharacter(tool) && utf8Bytes(tool) <= limits.SKILL_TOOL_BYTES_MAX;
  if (
    isTexts(tools) &&
    (tools as string[]).length <= limits.SKILL_TOOLS_MAX &&
    (tools as string[]).every(isTool)
  )
    return null;
  const most = `${limits.SKILL_TOOLS_MAX} names of at most ${limits.SKILL_TOOL_BYTES_MAX} bytes each`;
  return ['allowed_tools', `must be a list of at most ${most}`];
}

function metadataProblem(metadata: Manifest['metadata']): readonly [string, string] | null {
  if (!isMetadata(metadata))
    return ['metadata', `the other keys must be at most ${METADATA_BYTES_MAX} bytes of JSON`];
  const { scope, parameters_schema: schema, composes_with_reflections: composes } = metadata;
  if (scope !== undefined && !(SCOPES as readonly unknown[]).includes(scope))
    return ['scope', `must be one of ${SCOPES.join(', ')}`];
  const parameters = schema === undefined ? null : schemaProblem(schema);
  if (parameters !== null) return ['parameters_schema', parameters];
  if (composes === undefined || composesOf(metadata) !== null) return null;
  const most = `${limits.SKILL_COMPOSES_MAX} entries {namespace, min_depth}`;
  return [
    'composes_with_reflections',
    `must be a list of at most ${most}; min_depth is a whole number from 0`,
  ];
}

/** What is wrong with the schema of the parameters of a skill; null for one that describes an object. */
export function schemaProblem(schema: unknown): string | null {
  if (!isObject(schema) || schema['type'] !== 'object')
    return 'must be a JSON object whose "type" is "object"';
  const { properties = {}, required = [] } = schema;
  if (!isObject(properties)) return '"properties" must be an object';
  if (!isTexts(required)) return '"required" must be a list of names';
  const missing = (required as string[]).find((name) => !Object.hasOwn(properties, name));
  return missing === undefined ? null : `"required" names "${missing}", which is not among its properties`;
}

/** The reflections that a skill is composed with; null where its metadata says something else than that. */
export function composesOf({
  composes_with_reflections: given = [],
}: Manifest['metadata']): readonly Composes[] | null {
  if (!Array.isArray(given) || given.length > limits.SKILL_COMPOSES_MAX) return null;
  const entries: Composes[] = [];
  for (const entry of given as readonly unknown[]) {
    if (!isObject(entry)) return null;
    const { namespace, min_depth: depth = 0 } = entry;
    if (!isText(namespace) || storeNamespaceProblem(namespace) !== null || !isCount(depth)) return null;
    entries.push({ namespace, min_depth: depth as number });
  }
  return entries;
}

/** The SKILL.md of a skill. Values stand in the notation of JSON, which is YAML too, so reading it gives all of them back. */
export function writeSkillText({ manifest, body }: SkillText): string {
  const { license, compatibility, allowed_tools: tools, metadata, ...rest } = manifest;
  const { namespace, name, description } = rest;
  const members: Record<string, unknown> = {
    ...{ namespace, name, description },
    ...(license === null ? {} : { license }),
    ...(compatibility === null ? {} : { compatibility }),
    ...(tools.length === 0 ? {} : { allowed_tools: tools }),
  };
  const others = Object.entries(metadata).filter(([key]) => !(OWN as readonly string[]).includes(key));
  const lines = [...Object.entries(members), ...others].map(
    ([key, value]) => `${/^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key)}: ${JSON.stringify(value)}`,
  );
  return `---\n${lines.join('\n')}\n---\n\n${body}`;
}

/**
 * The text at the beginning of what the digest of a skill covers: compact JSON with its keys in this order. The body and the
 * digests of the files follow (`skill-digest.ts`).
 */
export function digestedManifest(manifest: Omit<Manifest, 'metadata'>): string {
  const { namespace, name, description, license, compatibility, allowed_tools } = manifest;
  return JSON.stringify({ namespace, name, description, license, compatibility, allowed_tools });
}

/** The failure of a SKILL.md that is wrong in a key, or as a whole. */
export const wrongSkillText = (key: string, problem: string): Result<never> =>
  fail('VALIDATION_FAILED', `SKILL.md: ${key === 'SKILL.md' ? '' : `${key}: `}${problem}`, { fields: [key] });
