/** Writes `storage/vectors/kernel-bytes.ts` from `kernel.wat`. Run the compiled file with node after a change. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assembleKernel, kernelModuleText, repositoryRoot } from './kernel-source.js';

const target = join(repositoryRoot(), 'storage/vectors/kernel-bytes.ts');
writeFileSync(target, kernelModuleText(await assembleKernel()));
