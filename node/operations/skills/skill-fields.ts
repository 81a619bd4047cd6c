import { z } from 'zod';
import { publicKeyFromText } from '../../../protocol/base/key-text.js';
import { epochSeconds } from '../../../protocol/coordination/signed.js';
import { peerIdOf } from '../../../protocol/log/peer-id.js';
import type { RegisterSkillOutcome } from '../../../protocol/skills/register-skill.js';
import { RESOURCE_KINDS } from '../../../protocol/skills/resource-path.js';
import type { Skill } from '../../../protocol/skills/skill-kind.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';

export const skillId = z
  .string()
  .regex(/^[0-9a-f-]{36}$/i, 'must be the whole id of a skill')
  .transform((value) => value.toLowerCase())
  .describe('Id of a version of a skill');

export const resourceKind = z.enum(RESOURCE_KINDS);

/** A path on the disk of the node. */
export const diskPath = z
  .string()
  .min(1)
  .max(4096)
  .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be a path');

/** What lists and single answers say of a version; what it does not have is left out. */
export const skillSummary = {
  id: z.string(),
  namespace: z.string(),
  name: z.string(),
  description: z.string(),
  digest: z.string().describe('SHA-256, hex'),
  created_at: z.int().describe('Seconds since 1970'),
  license: z.string().optional(),
  compatibility: z.string().optional(),
  allowed_tools: z.array(z.string()).optional(),
  signing_agent: z.string().describe('The node whose key signed the digest').optional(),
} as const;

export function summaryOf(skill: Skill, { services: { crypto } }: Pick<ReadCall, 'services'>) {
  const { skill_id: id, namespace, name, description, digest, license, compatibility, allowed_tools } = skill;
  const key = skill.public_key === null ? null : publicKeyFromText(skill.public_key);
  return {
    ...{ id, namespace, name, description, digest, created_at: epochSeconds(skill.created_at) },
    ...(license === null ? {} : { license }),
    ...(compatibility === null ? {} : { compatibility }),
    ...(allowed_tools.length === 0 ? {} : { allowed_tools: [...allowed_tools] }),
    ...(key === null ? {} : { signing_agent: peerIdOf(key, crypto) }),
  };
}

/** What is answered of a version that was registered. */
export const registeredMembers = {
  id: z.string(),
  namespace: z.string(),
  name: z.string(),
  digest: z.string(),
  signed: z.boolean(),
  superseded_id: z.string().describe('The version whose place it took').optional(),
} as const;

export function registeredAs({ skill, supersededId }: RegisterSkillOutcome) {
  const { skill_id: id, namespace, name, digest, signature } = skill;
  return {
    ...{ id, namespace, name, digest, signed: signature !== null },
    ...(supersededId === null ? {} : { superseded_id: supersededId }),
  };
}

export const asAgent = fields.agentId.describe('The caller').optional();
