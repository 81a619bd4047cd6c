import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { isAlive } from '../../is-alive.js';
import { readModelFolder } from '../onnx/model-folder.js';
import { type CatalogModel, catalogModel, MODEL_HUB } from './catalog.js';
import { addressProblem, type Downloaded, download, fileSha256 } from './download.js';
import { encodersFolder, type InstallRecord, isModelName, MODEL_FILES, RECORD_FILE } from './installed.js';

export interface InstallModel {
  readonly home: string;
  /** A name of the catalog, a folder, or the address of a folder. */
  readonly source: string;
  /** The name that it gets here; null takes that of the source. */
  readonly name: string | null;
  /** The address of another hub, for names of the catalog; null for the usual one. */
  readonly hub: string | null;
  /** What the ONNX file must be; null takes what the server says about it. */
  readonly sha256: string | null;
  readonly now: string;
  /** What names the proxy. */
  readonly env: NodeJS.ProcessEnv;
  readonly progress: (file: string, bytes: number, of: number | null) => void;
}

export interface InstalledFiles {
  readonly name: string;
  readonly folder: string;
  readonly dim: number;
  readonly bytes: number;
  /** True when the checksums of the weights were known beforehand. */
  readonly verified: boolean;
}

type Files = InstallRecord['files'];

/** Names that `encoder use` takes for something else. */
const CHOSEN_OTHERWISE = new Set(['builtin', 'none']);
/** A lock without the id of its process is one that is just being made, or of a process that was killed then. */
const LOCK_BEGINS_MS = 10_000;

/** The file that holds the weights of the ONNX file, where they do not fit into it. */
const dataOf = (files: Files): string => `${files.find(({ name }) => name.endsWith('.onnx'))?.name}_data`;

interface Source {
  readonly name: string;
  readonly from: string;
  /** The model of the catalog, where it is one. */
  readonly known: CatalogModel | null;
  readonly take: (folder: string) => Promise<Result<Files>>;
}

/**
 * Puts a model into the home, whole or not at all: its files lie in a folder of their own until they are complete and
 * read as a model. A call that was interrupted is continued. CONFLICT where the name is taken.
 */
export async function installModel(wanted: InstallModel): Promise<Result<InstalledFiles>> {
  const source = sourceOf(wanted);
  if (!source.ok) return failed(source.error);
  const { name, from } = source.value;
  if (!isModelName(name) || CHOSEN_OTHERWISE.has(name.toLowerCase()))
    return fail('VALIDATION_FAILED', `"${name}" cannot be the name of a model; give another one with --name`);
  const root = encodersFolder(wanted.home);
  const folder = join(root, name);

  // What another source left is no part of this model.
  const draft = join(
    root,
    `.partial-${name}-${createHash('sha256').update(from).digest('hex').slice(0, 12)}`,
  );
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const lock = join(root, `.partial-${name}.lock`);
  if (!takeLock(lock, wanted.now))
    return fail('UNAVAILABLE', `another process installs ${name}; wait until it has ended`);
  try {
    if (existsSync(folder))
      return fail('CONFLICT', `${folder} is there already; delete it, or give another name with --name`);
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    return await completed(wanted, source.value, draft, folder);
  } catch (error) {
    return fail('UNAVAILABLE', `${name} could not be installed: ${(error as Error).message}`);
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Fetches the files into the draft, and gives it its name when it reads as a model. */
async function completed(
  wanted: InstallModel,
  { name, from, known, take }: Source,
  draft: string,
  folder: string,
): Promise<Result<InstalledFiles>> {
  const files = await take(draft);
  if (!files.ok) return failed(files.error);
  if (known?.pooling === 'cls' && !existsSync(join(draft, '1_Pooling/config.json'))) {
    mkdirSync(join(draft, '1_Pooling'), { recursive: true });
    writeFileSync(join(draft, '1_Pooling/config.json'), '{"pooling_mode_cls_token":true}\n');
  }
  const model = readModelFolder(draft);
  if (!model.ok) {
    rmSync(draft, { recursive: true, force: true });
    return fail('VALIDATION_FAILED', `${from} is no model for the backend onnx: ${model.error.message}`);
  }
  const record: InstallRecord = { from, installed_at: wanted.now, files: files.value };
  writeFileSync(join(draft, RECORD_FILE), `${JSON.stringify(record, null, 2)}\n`);
  renameSync(draft, folder);
  const bytes = files.value.reduce((sum, file) => sum + statSync(join(folder, file.name)).size, 0);
  const weights = files.value.filter((file) => /\.onnx(?:_data)?$/.test(file.name));
  const verified = weights.every((file) => file.verified);
  return ok({ name, folder, dim: model.value.dim, bytes, verified });
}

/** One process at a time installs a model; the lock of one that has ended counts for nothing. */
function takeLock(path: string, now: string): boolean {
  for (let at = 0; at < 2; at += 1) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx', mode: 0o600 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const pid = Number(readFileSync(path, 'utf8'));
      const isHeld = pid > 0 ? isAlive(pid) : Date.parse(now) - statSync(path).mtimeMs < LOCK_BEGINS_MS;
      if (isHeld) return false;
      rmSync(path, { force: true });
    }
  }
  return false;
}

function sourceOf(wanted: InstallModel): Result<Source> {
  const { source, hub } = wanted;
  if (/^https?:\/\//i.test(source)) {
    if (!URL.canParse(source)) return fail('VALIDATION_FAILED', `${source} is no address`);
    const url = new URL(source.endsWith('/') ? source : `${source}/`);
    const problem = addressProblem(url);
    if (problem !== null) return fail('VALIDATION_FAILED', problem);
    const name = wanted.name ?? nameOf(url);
    return ok({ name, from: url.href, known: null, take: (folder) => fetched(url.href, folder, wanted) });
  }
  const known = catalogModel(source);
  if (known !== null && !existsSync(join(source, 'config.json'))) {
    const base = hub ?? MODEL_HUB;
    const from = `${base.replace(/\/$/, '')}/${known.path}`;
    const problem = URL.canParse(from) ? addressProblem(new URL(from)) : `${base} is no address`;
    if (problem !== null) return fail('VALIDATION_FAILED', problem);
    return ok({
      name: wanted.name ?? known.name,
      from,
      known,
      take: (folder) => fetched(from, folder, wanted),
    });
  }
  if (!existsSync(source))
    return fail(
      'NOT_FOUND',
      `"${source}" is neither a known model nor a folder; "mnemesh encoder list" names the models`,
    );
  const name = wanted.name ?? basename(source);
  return ok({
    name,
    from: source,
    known: catalogModel(name),
    take: (folder) => copied(source, folder, wanted),
  });
}

/** The last telling part of an address: hubs end it with `resolve/main`. */
const nameOf = (url: URL): string =>
  url.pathname
    .split('/')
    .filter((part) => !['', 'resolve', 'main', 'onnx', 'raw'].includes(part))
    .at(-1) ?? url.hostname;

async function fetched(base: string, folder: string, wanted: InstallModel): Promise<Result<Files>> {
  const files: { name: string; sha256: string; verified: boolean }[] = [];
  for (const { names, needed } of MODEL_FILES) {
    const got = await firstOf(names, base, folder, wanted);
    if (got.ok) files.push(got.value);
    else if (needed || got.error.code !== 'NOT_FOUND') return failed(got.error);
  }
  const data = await firstOf([dataOf(files)], base, folder, wanted);
  if (data.ok) files.push(data.value);
  else if (data.error.code !== 'NOT_FOUND') return failed(data.error);
  return ok(files);
}

async function firstOf(
  names: readonly string[],
  base: string,
  folder: string,
  { sha256, progress, env }: InstallModel,
): Promise<Result<Files[number]>> {
  let answer: Result<Downloaded> = fail('NOT_FOUND', `${base} has no ${names[0]}`);
  for (const name of names) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    const expected = name.endsWith('.onnx') ? (sha256?.toLowerCase() ?? null) : null;
    if (existsSync(path)) {
      // A former call has it already.
      const found = await fileSha256(path);
      if (expected === null || expected === found)
        return ok({ name, sha256: found, verified: expected !== null });
      rmSync(path);
    }
    answer = await download({
      ...{ url: new URL(name, base).href, path },
      sha256: expected,
      env,
      progress: (bytes, of) => progress(name, bytes, of),
    });
    if (answer.ok) return ok({ name, sha256: answer.value.sha256, verified: answer.value.verified });
    if (answer.error.code !== 'NOT_FOUND') break;
  }
  return failed(answer.ok ? { code: 'NOT_FOUND', message: base } : answer.error);
}

async function copied(
  source: string,
  folder: string,
  { sha256, progress }: InstallModel,
): Promise<Result<Files>> {
  const files: { name: string; sha256: string; verified: boolean }[] = [];
  const isFile = (name: string) => statSync(join(source, name), { throwIfNoEntry: false })?.isFile() === true;
  for (const { names, needed } of [...MODEL_FILES, { names: null, needed: false }]) {
    const name = (names ?? [dataOf(files)]).find(isFile);
    if (name === undefined) {
      if (needed) return fail('VALIDATION_FAILED', `${source} has no ${names?.[0]}`);
      continue;
    }
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    copyFileSync(join(source, name), path);
    const found = await fileSha256(path);
    const isChecked = name.endsWith('.onnx') && sha256 !== null;
    if (isChecked && found !== sha256.toLowerCase()) {
      rmSync(folder, { recursive: true, force: true });
      return fail('CONFLICT', `${join(source, name)} has the checksum ${found}, and not ${sha256}`);
    }
    const { size } = statSync(path);
    progress(name, size, size);
    files.push({ name, sha256: found, verified: isChecked });
  }
  return ok(files);
}
