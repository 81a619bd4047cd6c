import type { Viewer } from '../base/viewer.js';

/** The service itself, as it curates memories; no caller may take the id. */
export const CURATOR = 'ai:curator';

/** It changes the rows of all agents, as the contract says of the principals of the service (interface §5.4). */
export const CURATOR_VIEWER: Viewer = { all: true, agentId: CURATOR, asNamespace: null };

/** Where the curator says what it did, and how to undo it. */
export const REPORTS_NAMESPACE = '_curator/reports';
export const ROLLBACK_NAMESPACE = '_curator/rollback';

/** The tag of a record that was rolled back. The curator does not change its memories again. */
export const ROLLED_BACK_TAG = 'rolled-back';

/** What an archived copy says of why it is there. */
export const FORGET_REASON = 'curator';

/** The name of the passes, as hooks hear them. */
export type PassName = 'consolidate' | 'forget' | 'reflect';
