import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fail, ok, type Result } from '../../../protocol/base/result.js';

/** What a model in a folder needs, in the versions that were tried or later ones. */
const PACKAGES = { 'onnxruntime-node': '1', '@huggingface/tokenizers': '0' } as const;

/** Folder in the home in which the runtime is installed, by those who use it only. */
export const runtimeFolder = (home: string): string => join(home, 'onnx');

/** The packages of the runtime that are not installed. */
export const missingPackages = (home: string): readonly string[] =>
  Object.keys(PACKAGES).filter((name) => !existsSync(join(runtimeFolder(home), 'node_modules', name)));

const npmWords = (home: string): readonly string[] => [
  ...['install', '--prefix', runtimeFolder(home)],
  ...Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`),
];

/** The command that installs the runtime. */
export const runtimeCommand = (home: string): string => `npm ${npmWords(home).join(' ')}`;

/** Installs the runtime with npm, which knows the registry and the proxy; UNAVAILABLE with the last line of what npm said. */
export async function installRuntime(
  home: string,
  inherited: NodeJS.ProcessEnv,
): Promise<Result<{ readonly folder: string }>> {
  const folder = runtimeFolder(home);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const words = [...npmWords(home), '--no-audit', '--no-fund', '--loglevel=error'];
  // Its installer would load a library for graphics cards from elsewhere.
  const env = { ...inherited, ONNXRUNTIME_NODE_INSTALL: 'skip' };
  const said = await new Promise<{ readonly code: number | null; readonly text: string }>((resolve) => {
    const npm = spawn('npm', words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [npm.stdout, npm.stderr])
      stream.setEncoding('utf8').on('data', (more: string) => {
        text = (text + more).slice(-4000);
      });
    npm.once('error', (error) => resolve({ code: null, text: error.message }));
    npm.once('close', (code) => resolve({ code, text }));
  });
  if (said.code === 0 && missingPackages(home).length === 0) return ok({ folder });
  const last = said.text.trim().split('\n').at(-1) ?? '';
  return fail('UNAVAILABLE', `the runtime could not be installed (${last}); run ${runtimeCommand(home)}`);
}
