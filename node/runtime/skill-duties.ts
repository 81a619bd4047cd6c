import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import { rowsOf } from '../../protocol/kinds/find.js';
import { SKILL_SWEEP_MS, SKILL_UPLOAD_SECONDS } from '../../protocol/skills/limits.js';
import { skillUploadKind } from '../../protocol/skills/upload-kind.js';
import type { Duty } from './duty.js';

/** Removes the files of a skill whose registration did not end, as after a kill; some in each round. */
export const sweepSkillUploads: Duty = {
  ...{ name: 'skill-uploads', every: SKILL_SWEEP_MS, first: 60_000, needs: ['clock'] },
  run:
    ({ store, clock }) =>
    async () => {
      const now = instantFromMs(clock.nowMs());
      const before = instantAfter(now, -SKILL_UPLOAD_SECONDS);
      const found = await store.query({
        ...{ kind: 'find-records', of: skillUploadKind.name, viewer: null, now, limit: 1 },
        ...{ where: { stored_at: { to: before } }, order: { by: 'stored_at' } },
      });
      const [upload] = found.ok ? rowsOf(skillUploadKind, found.value) : [];
      if (upload === undefined) return null;
      const { skill_id: skillId } = upload;
      const asked = { kind: 'drop-skill-upload', skillId, before } as const;
      const dropped = await store.execute(asked, { lane: 'background' });
      return dropped.ok ? { afterMs: 0 } : null;
    },
};
