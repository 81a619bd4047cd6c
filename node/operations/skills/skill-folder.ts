import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import * as limits from '../../../protocol/skills/limits.js';
import { resourcePathProblem } from '../../../protocol/skills/resource-path.js';
import { below, codeOf, type JailedPath, linkProblem, readJailed, unfit } from './jail.js';

const TEXT_NAME = 'SKILL.md';
const RESOURCES = 'resources';
/** The longest SKILL.md: its front matter, its body, and the lines between. */
const TEXT_BYTES_MAX = limits.FRONT_MATTER_BYTES_MAX + limits.SKILL_BODY_BYTES_MAX + 4096;
/** Names of what is left out that an answer shows. */
const IGNORED_MAX = 20;

/** A folder with a skill: its text, and the paths of its files below `resources/`. */
export interface SkillFolder {
  readonly text: string;
  readonly files: readonly string[];
  /** Other things beside SKILL.md, which are no part of the skill. */
  readonly ignored: readonly string[];
  /** Reads a file; together they have at most as many bytes as a skill may have. */
  read(path: string): Promise<Result<Buffer>>;
}

/** A file of a skill that comes with the call or from a folder. */
export interface FileSource {
  readonly paths: readonly string[];
  read(path: string): Promise<Result<Uint8Array>>;
}

/** Opens the folder of a skill, or that of the SKILL.md that a path names. */
export async function openSkillFolder(named: JailedPath): Promise<Result<SkillFolder>> {
  const isText = named.path.endsWith(`/${TEXT_NAME}`);
  const folder = isText ? { ...named, path: named.path.slice(0, -TEXT_NAME.length - 1) } : named;
  const problem = await linkProblem(folder);
  if (problem !== null) return unfit(folder, problem);
  const bytes = await readJailed(below(folder, TEXT_NAME), TEXT_BYTES_MAX);
  if (!bytes.ok) return failed(bytes.error);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.value);
  } catch {
    return unfit(below(folder, TEXT_NAME), 'is not valid UTF-8');
  }
  const beside = await entriesOf(folder, limits.SKILL_FILES_MAX);
  if (!beside.ok) return failed(beside.error);
  const others = beside.value
    .map(({ name }) => name)
    .filter((name) => name !== TEXT_NAME && name !== RESOURCES);
  const found: Found = { files: [], looked: 0 };
  const listed = beside.value.some(({ name }) => name === RESOURCES)
    ? await listFiles(below(folder, RESOURCES), '', found)
    : null;
  if (listed !== null) return listed;
  let left = limits.SKILL_BYTES_MAX - bytes.value.length;
  const read = async (path: string): Promise<Result<Buffer>> => {
    const file = await readJailed(below(folder, RESOURCES, ...path.split('/')), left);
    if (file.ok) left -= file.value.length;
    return file;
  };
  return ok({ text, files: found.files.sort(), ignored: others.sort().slice(0, IGNORED_MAX), read });
}

/** The files that were found, and how many files and folders were looked at. */
interface Found {
  readonly files: string[];
  looked: number;
}

/** Adds the paths of all files below a folder; null, or why one of them is refused. */
async function listFiles(folder: JailedPath, within: string, found: Found): Promise<Result<never> | null> {
  const problem = await linkProblem(folder);
  if (problem !== null) return unfit(folder, problem);
  const entries = await entriesOf(folder, limits.SKILL_FILES_MAX);
  if (!entries.ok) return failed(entries.error);
  for (const entry of entries.value) {
    const path = `${within}${entry.name}`;
    const place = below(folder, entry.name);
    const unsound = resourcePathProblem(path);
    if (unsound !== null) return unfit(place, unsound);
    found.looked += 1;
    if (found.looked > limits.SKILL_FILES_MAX)
      return unfit(folder, `is of a skill with more than ${limits.SKILL_FILES_MAX} files and folders`);
    if (entry.isDirectory()) {
      const refused = await listFiles(place, `${path}/`, found);
      if (refused !== null) return refused;
    } else if (entry.isFile()) {
      found.files.push(path);
    } else {
      return unfit(place, entry.isSymbolicLink() ? 'is a symbolic link' : 'is not a regular file');
    }
  }
  return null;
}

async function entriesOf(folder: JailedPath, max: number): Promise<Result<readonly Dirent[]>> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(folder.path)) {
      entries.push(entry);
      if (entries.length > max) return unfit(folder, `has more than ${max} entries`);
    }
  } catch (error) {
    return unfit(folder, `cannot be read (${codeOf(error)})`);
  }
  return ok(entries);
}
