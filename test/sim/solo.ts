import type { JoinMesh } from './sim-node.js';

/** A node that is in no mesh: for tests of the world itself. */
export const solo: JoinMesh = () =>
  Promise.resolve({
    receive: () => Promise.resolve({ status: 404, body: new Uint8Array(0) }),
    operate: null,
    stop: () => Promise.resolve(),
    remaining: () => [],
  });
