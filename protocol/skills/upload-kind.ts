import type { Instant } from '../base/meanings.js';
import { localKind } from '../kinds/local-kind.js';

/** A skill of which files are stored and that is not registered yet. */
export interface SkillUpload {
  readonly skill_id: string;
  readonly namespace: string;
  /** When the last of its files was stored. */
  readonly stored_at: Instant;
}

export const skillUploadKind = localKind<SkillUpload>({
  name: 'skill_upload',
  key: ['skill_id'],
  members: { skill_id: 'text', namespace: 'text', stored_at: 'text' },
  indexes: [['stored_at']],
});
