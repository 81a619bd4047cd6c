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
];
