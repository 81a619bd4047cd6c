import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A source file of the project, as the architecture tests read it. */
export interface SourceFile {
  /** From the top of the project. */
  readonly path: string;
  readonly text: string;
  /** The text without comments. */
  readonly code: string;
  readonly lines: number;
  readonly imports: readonly string[];
  /** Imports that are not for types alone. */
  readonly valueImports: readonly string[];
  /** A relative import from the top of the project, without its ending. */
  resolve(specifier: string): string;
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/g;

/** The project's top folder, also when this file runs from a build. */
export const PROJECT = findProject(dirname(fileURLToPath(import.meta.url)));

function findProject(from: string): string {
  const entries = readdirSync(from);
  if (entries.includes('package.json') && entries.includes('tsconfig.json')) return from;
  return findProject(dirname(from));
}

/** The TypeScript files of a top folder. */
export function sourceFiles(folder: string): SourceFile[] {
  return readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => read(join(folder, name)));
}

function read(path: string): SourceFile {
  const text = readFileSync(join(PROJECT, path), 'utf8');
  const code = withoutComments(text);
  const imports: string[] = [];
  const valueImports: string[] = [];
  for (const match of code.matchAll(IMPORT)) {
    const specifier = (match[2] ?? match[3])!;
    imports.push(specifier);
    if (match[1] === undefined) valueImports.push(specifier);
  }
  const resolve = (specifier: string) =>
    relative('.', normalize(join(dirname(path), specifier))).replace(/\.js$/, '');
  return { path, text, code, lines: text.split('\n').length, imports, valueImports, resolve };
}

/** Good enough for this code base: comments on their own lines and after code, strings left alone. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/[^\n]*/g, '$1');
}
