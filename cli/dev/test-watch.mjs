import { createRequire, syncBuiltinESMExports } from 'node:module';

// The runner watches every promise of a process, to know by which test it was made. That is half of the time of tests that
// make many, and is needed only while tests are declared. This module comes before `node:test`.
const hooks = createRequire(import.meta.url)('node:async_hooks');
const { createHook } = hooks;
const watches = [];
hooks.createHook = (callbacks) => {
  const watch = createHook(callbacks);
  watches.push(watch);
  return watch;
};
syncBuiltinESMExports();

const { describe } = await import('node:test');
hooks.createHook = createHook;
syncBuiltinESMExports();

const loads = [];

/** Loads a file of tests into a suite of its own. */
export function load(path, url) {
  describe(path, () => {
    const loaded = import(url);
    loads.push(loaded);
    return loaded;
  });
}

/** Ends the watch when all tests are declared. */
export async function declared() {
  await Promise.allSettled(loads);
  for (const watch of watches) watch.disable();
}
