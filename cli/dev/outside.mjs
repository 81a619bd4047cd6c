import { createRequire } from 'node:module';

/**
 * These modules stay outside the bundles, and are loaded when something of them is first used: Node's own modules, because
 * many are expensive to load (`node:http`), and packages that are large or look for files next to their own.
 */
const OUTSIDE = /^(node:.*|pino|node-forge|ws|pg|csv-parse|rotating-file-stream)$/;

const require = createRequire(import.meta.url);

/** What stands at the top of each script: how a module outside of it is loaded. */
export const OUTSIDE_HELPERS = [
  // Under this name the bundler does not touch it.
  'const $require = require;',
  'const $libraries = new Map();',
  'const $library = (path) => {',
  '  if (!$libraries.has(path)) $libraries.set(path, $script(path)(require));',
  '  return $libraries.get(path);',
  '};',
  // The bundler copies own members, which would load the module, and leaves those of the prototype.
  'const $onDemand = (load, names) => {',
  '  const members = {};',
  '  let loaded;',
  '  for (const name of names)',
  '    Object.defineProperty(members, name, { get: () => (loaded === undefined ? (loaded = load()) : loaded)[name] });',
  '  return Object.create(members);',
  '};',
].join('\n');

/** A plugin by which modules outside are loaded on demand. */
export function outside() {
  return {
    name: 'outside',
    setup({ onResolve, onLoad }) {
      onDemand({ onResolve, onLoad }, 'outside', OUTSIDE, (path) => ({
        load: `$require(${JSON.stringify(path)})`,
        names: namesOf(require(path)),
      }));
    },
  };
}

/** What stands in the place of modules that match `filter`: an import loads at the first use of a member, a call at once. */
export function onDemand({ onResolve, onLoad }, name, filter, described) {
  const namespace = (kind) => `${name} ${kind}`;
  onResolve({ filter }, ({ path, kind }) => ({
    path,
    namespace: namespace(kind === 'require-call' ? 'required' : 'imported'),
  }));
  onLoad({ filter: /.*/, namespace: namespace('required') }, async ({ path }) => ({
    contents: `module.exports = ${(await described(path)).load};`,
  }));
  onLoad({ filter: /.*/, namespace: namespace('imported') }, async ({ path }) => {
    const { load, names } = await described(path);
    return { contents: `module.exports = $onDemand(() => ${load}, ${JSON.stringify(names)});` };
  });
}

const OF_FUNCTIONS = ['length', 'name', 'prototype', 'arguments', 'caller'];

/** What a module of Node or a package can be imported by. */
const namesOf = (module) =>
  Object.getOwnPropertyNames(module).filter(
    (name) => typeof module !== 'function' || !OF_FUNCTIONS.includes(name),
  );
