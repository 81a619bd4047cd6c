/** Writes `kernel-bytes.ts` beside each `kernel.wat`. Run the compiled file with node after a change. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assembleKernel, KERNEL_FOLDERS, kernelModuleText, repositoryRoot } from './kernel-source.js';

for (const folder of KERNEL_FOLDERS) {
  const target = join(repositoryRoot(), folder, 'kernel-bytes.ts');
  writeFileSync(target, kernelModuleText(await assembleKernel(folder)));
}
