import type { ComponentType } from 'preact';

export interface ViewEntry {
  readonly name: string;
  readonly title: string;
  readonly load: () => Promise<ComponentType>;
}

/** The views, in the order of the navigation. */
export const VIEWS: readonly ViewEntry[] = [
  { name: 'memories', title: 'Memories', load: async () => (await import('./memories.js')).Memories },
  { name: 'conflicts', title: 'Conflicts', load: async () => (await import('./conflicts.js')).Conflicts },
  { name: 'approvals', title: 'Approvals', load: async () => (await import('./approvals.js')).Approvals },
  { name: 'rules', title: 'Rules', load: async () => (await import('./rules.js')).Rules },
  { name: 'graph', title: 'Graph', load: async () => (await import('./graph.js')).Graph },
  { name: 'board', title: 'Board', load: async () => (await import('./board.js')).Board },
  { name: 'messages', title: 'Messages', load: async () => (await import('./board.js')).Messages },
  { name: 'erasures', title: 'Erasures', load: async () => (await import('./erasures.js')).Erasures },
  { name: 'tokens', title: 'Tokens', load: async () => (await import('./tokens.js')).Tokens },
  { name: 'room', title: 'Room', load: async () => (await import('./room.js')).Room },
  { name: 'secrets', title: 'Secrets', load: async () => (await import('./secrets.js')).Secrets },
  { name: 'mesh', title: 'Mesh', load: async () => (await import('./mesh.js')).Mesh },
  { name: 'audit', title: 'Audit', load: async () => (await import('./audit.js')).Audit },
  { name: 'health', title: 'Health', load: async () => (await import('./health.js')).Health },
];
