import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from '../support/properties.js';
import { INPUTS, SHARED, step } from './drawn-steps.js';
import { openSurfaces, type Surfaces } from './three-surfaces.js';

describe('surface parity', { timeout: 240_000 }, () => {
  let surfaces: Surfaces;
  before(async () => {
    surfaces = await openSurfaces();
  });
  after(() => surfaces.close());

  it('draws inputs for every operation that the three surfaces share', () => {
    assert.deepEqual(
      SHARED.filter(({ name }) => INPUTS[name] === undefined).map(({ name }) => name),
      [],
    );
  });

  it('HTTP, MCP and the command line give equal results, errors and databases', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 12 }), async (steps) => {
        await surfaces.reset();
        for (const { operation, input } of steps) {
          const [http, mcp, cli] = await surfaces.run(operation, input);
          assert.deepEqual(mcp, http, `MCP differs from HTTP in ${operation} ${JSON.stringify(input)}`);
          assert.deepEqual(cli, http, `CLI differs from HTTP in ${operation} ${JSON.stringify(input)}`);
        }
        const [http, mcp, cli] = surfaces.databases();
        assert.deepEqual(mcp, http);
        assert.deepEqual(cli, http);
      }),
      { numRuns: Number(process.env['PARITY_RUNS'] ?? 6), endOnFailure: true },
    );
  });
});
