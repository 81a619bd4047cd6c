import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KERNEL_BASE64 } from '../../../storage/vectors/kernel-bytes.js';
import { assembleKernel } from './kernel-source.js';

test('the committed kernel is what kernel.wat assembles to', async () => {
  assert.equal(KERNEL_BASE64, Buffer.from(await assembleKernel('storage/vectors')).toString('base64'));
});
