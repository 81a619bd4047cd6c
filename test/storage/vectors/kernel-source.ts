import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import wabt from 'wabt';

/** The folder of package.json, from the sources as well as from a build folder. */
export function repositoryRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

/** Assembles WebAssembly text. */
export async function assemble(name: string, source: string): Promise<Uint8Array> {
  const assembler = await wabt();
  const module = assembler.parseWat(name, source, { simd: true });
  try {
    module.resolveNames();
    module.validate();
    return module.toBinary({ write_debug_names: false }).buffer;
  } finally {
    module.destroy();
  }
}

/** The folders that have a kernel: `kernel.wat`, and `kernel-bytes.ts` made from it. */
export const KERNEL_FOLDERS = ['storage/vectors', 'node/semantics/encoder'] as const;

/** Assembles the `kernel.wat` of a folder. */
export async function assembleKernel(folder: (typeof KERNEL_FOLDERS)[number]): Promise<Uint8Array> {
  const path = join(repositoryRoot(), folder, 'kernel.wat');
  return await assemble('kernel.wat', readFileSync(path, 'utf8'));
}

/** The text of `kernel-bytes.ts` for these bytes. */
export function kernelModuleText(bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,100}/g) ?? [];
  return `/**
 * The kernel as base64, assembled from \`kernel.wat\` by \`test/storage/vectors/build-kernel.ts\`; a test compares
 * the two.
 */
export const KERNEL_BASE64 = [
${lines.map((line) => `  '${line}',`).join('\n')}
].join('');
`;
}
